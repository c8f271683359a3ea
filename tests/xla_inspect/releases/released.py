"""This test's environment in the role of a release."""

from __future__ import annotations

import sys
from pathlib import Path

import jax

from xla_inspect.releases import Environment


class Here(Environment):
    """The environment that runs this test, under the number of a release."""

    @property
    def python(self) -> Path:
        """The path of the Python interpreter."""
        return Path(sys.executable)

    @property
    def packages(self) -> Path:
        """The folder that packages are installed in."""
        return Path(jax.__file__).parents[1]


def make_here(version: str, folder: Path) -> Here:
    """Return this environment under a release's number, with a new folder for its usage marks."""
    folder.mkdir(parents=True, exist_ok=True)
    return Here(version, folder, {"jax": version}, {})
