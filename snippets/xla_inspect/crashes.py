"""How a process that ran the reader's file ended, and where in the file it was."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


def find_line(stacks: str, file: Path) -> int | None:
    """Return the innermost line of a file in what `faulthandler` wrote last, or None where no thread was in it."""
    names = {str(file), str(file.absolute())}
    last = stacks.rpartition("Fatal Python error")[2]
    return next((int(line) for name, line in _FRAME.findall(last) if name in names), None)


def name_end(code: int) -> str:
    """Return how a process ended: by its exit status, or by a signal where the code is below zero."""
    return f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
