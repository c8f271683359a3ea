"""The end of a process that ran the reader's file: the signal or status, its reason, and the line of the file."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

REASONS: dict[int, str] = {
    signal.SIGABRT: "XLA ends a process so when it meets what it cannot go on with",
    signal.SIGSEGV: "what crashed is not Python: a library that the code calls, or recursion without end",
    9: "the system ends a process so when memory runs out",
}
"""Reasons why a signal ends a process that runs the reader's code, by the signal's number."""

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


def find_line(stacks: str, file: Path) -> int | None:
    """Return the innermost line of a file in what `faulthandler` wrote last, or None where no thread was in it."""
    names = {str(file), str(file.absolute())}
    last = stacks.rpartition("Fatal Python error")[2]
    return next((int(line) for name, line in _FRAME.findall(last) if name in names), None)


def name_end(code: int) -> str:
    """Return how a process ended: by its exit status, or by a signal where the code is below zero."""
    if code >= 0:
        return f"exit status {code}"
    # Real-time signals but for two have numbers alone.
    names: dict[int, str] = {number: number.name for number in signal.Signals}
    return f"signal {names.get(-code, -code)}"


def explain_end(code: int) -> str:
    """Return how a process ended, and why a signal ends one where that is known."""
    reason = REASONS.get(-code)
    return f"{name_end(code)}; {reason}" if reason else name_end(code)
