"""Runs of pytest over the tests that a page shows, in a temporary folder, with their output."""

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
"""Environment variables that change the output of pytest, which shortens no lines in continuous integration."""

_TOOK = re.compile(r" in \d+\.\d+s(?: \([\d:]+\))?")


def run_tests(files: Mapping[str, str], *words: str, expected: int = 0) -> str:
    """Run pytest on test files in a temporary folder, and return its output without the duration.

    Args:
        files: The contents of the test files, by name.
        *words: Further arguments of the command line.
        expected: The expected exit status, 1 if tests fail.

    Raises:
        RuntimeError: The exit status differs.
    """
    with tempfile.TemporaryDirectory(prefix="xla_inspect_tests_") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        # The header contains versions and paths of this machine, and the cache would add a folder to the tests.
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
        # An environment that was installed before the package had a plugin does not register it.
        is_registered = PLUGIN in {entry.value for entry in entry_points(group="pytest11")}
        command += [*words] if is_registered else ["-p", PLUGIN, *words]
        # The output on the page must not depend on the environment in which the site is built.
        environment = os.environ.copy()
        for name in [name for name in environment if _READ.fullmatch(name)]:
            del environment[name]
        process = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)  # noqa: S603 - our own
    if process.returncode != expected:
        message = f"pytest ended with {process.returncode}, not {expected}: {process.stdout}{process.stderr}"
        raise RuntimeError(message)
    return _TOOK.sub("", process.stdout).strip()
