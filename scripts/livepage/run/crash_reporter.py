"""A small process beside this one, to say which line runs for long, and which ran when the process ended.

Native code that a page calls may hold Python up, and may leave through `_exit`: no exception, no signal, no handler at
exit.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livepage.read import Origin

LONG = 30.0
"""Seconds after which a piece that still runs is named; then it is again each minute."""

_PROGRAM = """
import queue, signal, sys, threading, time

signal.signal(signal.SIGINT, signal.SIG_IGN)
long, lines = float(sys.argv[1]), queue.Queue()

def read():
    for line in sys.stdin:
        lines.put(line.strip())
    lines.put(None)

threading.Thread(target=read, daemon=True).start()
last, began, due = "", 0.0, 0.0
while True:
    try:
        line = lines.get(timeout=max(0.0, due - time.monotonic()) if last else None)
    except queue.Empty:
        sys.stderr.write(f"{last} still running after {due - began:.0f} s\\n")
        sys.stderr.flush()
        due += 2 * long
        continue
    if line is None:
        break
    if not last:
        began = time.monotonic()
        due = began + long
    last = line
if last:
    sys.stderr.write(last + ": the process ended while this line ran\\n")
"""

_process: subprocess.Popen[str] | None = None


def note(origin: Origin | None) -> None:
    """Say which line runs now, or with None that nothing does."""
    global _process  # noqa: PLW0603 - one reporter for the process
    if _process is None or _process.poll() is not None:
        program = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(LONG)]
        _process = subprocess.Popen(program, stdin=subprocess.PIPE, text=True, encoding="utf-8")
    if _process.stdin:
        with contextlib.suppress(OSError):
            _process.stdin.write(f"{origin or ''}\n")
            _process.stdin.flush()
