"""Tests that a page shows, run by pytest in a folder of their own, and what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGIN = "pytest_xla_inspect"
_READ = re.compile(r"PYTEST_.*|(?:PY|FORCE|NO)_COLORS?|CI|BUILD_NUMBER|COLUMNS")
"""Variables of the environment by which pytest prints otherwise: in continuous integration it cuts no line."""

_TOOK = re.compile(r" in \d+\.\d+s(?: \([\d:]+\))?")


def run_tests(files: Mapping[str, str], *words: str, expected: int = 0) -> str:
    """Return what pytest prints, without how long it took.

    Args:
        files: The texts of the files by name.
        *words: More of its command line.
        expected: The exit status, 1 where tests fail.

    Raises:
        RuntimeError: It ends with another.
    """
    with tempfile.TemporaryDirectory(prefix="xla_inspect_tests_") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
        # An environment that was made before the package had a plugin does not know of it.
        known = PLUGIN in {each.value for each in entry_points(group="pytest11")}
        command += [*words] if known else ["-p", PLUGIN, *words]
        environment = os.environ.copy()
        for name in [name for name in environment if _READ.fullmatch(name)]:
            del environment[name]
        done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)  # noqa: S603 - our own
    if done.returncode != expected:
        message = f"pytest ended with {done.returncode}, not {expected}: {done.stdout}{done.stderr}"
        raise RuntimeError(message)
    return _TOOK.sub("", done.stdout).strip()
