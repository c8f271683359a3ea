"""The Python interpreters on this machine: a JAX release needs one for which it has wheels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xla_inspect.releases.uv_commands import run_uv

OLDEST = (3, 9)
"""The oldest Python that the probe runs on."""
_ASK = "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter on this machine.

    Attributes:
        version: Its major and minor version.
        path: Its executable.
    """

    version: tuple[int, int]
    path: Path

    def __str__(self) -> str:
        """Return the interpreter's display name, such as `Python 3.12`."""
        return f"Python {self.version[0]}.{self.version[1]}"


@cache
def list_interpreters() -> tuple[Interpreter, ...]:
    """Return one CPython of each installed minor version from 3.9 on: this process's first, then the newest first.

    The candidates are the interpreters that uv finds, and those of pyenv, most of which are not on the PATH.
    """
    # In a virtual environment, the base executable is the interpreter that created it.
    own = Interpreter(sys.version_info[:2], Path(getattr(sys, "_base_executable", "") or sys.executable))
    interpreters = {own.version: own}
    for path in (*_ask_uv(), *_list_pyenv()):
        version = _ask_version(path)
        if version is not None and version >= OLDEST:
            interpreters.setdefault(version, Interpreter(version, path))
    others = sorted(
        (python for python in interpreters.values() if python is not own),
        key=lambda python: python.version,
        reverse=True,
    )
    return (own, *others)


def _ask_uv() -> list[Path]:
    ended = run_uv(["python", "list", "--only-installed", "--output-format", "json"], check=False)
    with suppress(ValueError, KeyError, TypeError):
        return [
            Path(entry["path"])
            for entry in json.loads(ended.stdout)
            # The free-threaded build needs wheels of its own, which many releases lack.
            if entry.get("path") and entry["key"].startswith("cpython") and "freethreaded" not in entry["key"]
        ]
    return []


def _list_pyenv() -> list[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    versions = [path for path in root.glob("versions/*") if re.fullmatch(r"3\.\d+\.\d+", path.name)]
    newest_first = sorted(versions, key=lambda path: tuple(map(int, path.name.split("."))), reverse=True)
    return [path / "bin" / "python3" for path in newest_first]


def _ask_version(path: Path) -> tuple[int, int] | None:
    """Return the major and minor version of an interpreter, or None if it does not start or is not CPython."""
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        ended = subprocess.run([path, "-I", "-c", _ASK], capture_output=True, text=True, timeout=20, check=True)  # noqa: S603 - uv, or an interpreter that it found
        number, name = ended.stdout.split()
        major, _, minor = number.partition(".")
        return (int(major), int(minor)) if name == "cpython" else None
    return None
