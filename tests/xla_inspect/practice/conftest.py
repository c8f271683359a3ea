"""Fixtures of the practice tests: its commands, run with their output in a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect.practice.marking import logbook
from xla_inspect.practice.marking.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Where the tests find what they share.
sys.path.insert(0, str(Path(__file__).parent))
from planting import copy_all

# What a terminal, a test runner or an earlier import of the package has set, and a reader has not.
SET = ("XLA_FLAGS", "NO_COLOR", "COLUMNS", "PYTHONIOENCODING", "JAX_PLATFORMS")


@dataclass(frozen=True)
class Ended:
    """A finished command: its exit status and its output."""

    status: int
    out: str
    err: str


def start(module: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a command of the practice with its output in a pipe, and return its process."""
    clean = {name: value for name, value in os.environ.items() if name not in SET}
    command = [sys.executable, "-m", f"xla_inspect.{module}", *arguments]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**clean, **environment},
    )


@cache
def finish(module: str, *arguments: str, environment: tuple[tuple[str, str], ...] = ()) -> Ended:
    """Run a command of the practice to its end, once a session for equal arguments; return its status and output."""
    process = start(module, *arguments, **dict(environment))
    out, err = process.communicate(timeout=300)
    return Ended(process.returncode, out, err)


@pytest.fixture(autouse=True)
def _keep_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Store progress in a temporary folder, so that no test writes into the user's."""
    monkeypatch.setattr(logbook, "FOLDER", tmp_path / "kept")


@pytest.fixture(scope="session")
def run() -> Callable[..., Ended]:
    """A function that runs a command to its end: `run("hlo_dump", "--target", "h100", XLA_FLAGS="...")`."""

    def runs(module: str, *arguments: str, **environment: str) -> Ended:
        return finish(module, *arguments, environment=tuple(sorted(environment.items())))

    return runs


@pytest.fixture(scope="session")
def begin() -> Callable[..., subprocess.Popen[str]]:
    """A function that starts a command of the practice, and leaves it running."""
    return start


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One process for all answers, until one of them ends it."""
    with Sandbox(limit=120) as sandbox:
        yield sandbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the unsolved exercises."""
    return copy_all(tmp_path)
