"""Descriptions of the end of a process that ran user code: the signal or status, its reason, and the source line."""

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
"""Reasons for signals that end a process with user code, by signal number."""

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


def find_line(stacks: str, file: Path) -> int | None:
    """Return the number of the innermost line of a file in a `faulthandler` traceback, or None if it has none."""
    names = {str(file), str(file.absolute())}
    # Other stacks may precede those of the crash in the same file.
    last = stacks.rpartition("Fatal Python error")[2]
    return next((int(line) for name, line in _FRAME.findall(last) if name in names), None)


def name_end(code: int) -> str:
    """Return a description of a process's exit code, such as `exit status 1`, or `signal SIGSEGV` for -11."""
    if code >= 0:
        return f"exit status {code}"
    # All real-time signals except two have numbers but no names.
    names: dict[int, str] = {number: number.name for number in signal.Signals}
    return f"signal {names.get(-code, -code)}"


def explain_end(code: int) -> str:
    """Return a description of a process's end, with the reason for the signal if it is known."""
    reason = REASONS.get(-code)
    return f"{name_end(code)}; {reason}" if reason else name_end(code)
