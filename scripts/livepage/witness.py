"""A small process that outlives this one, to say which line was running when a compiler ended the process.

XLA leaves through `_exit` when it meets an unknown flag: no exception, no signal, no handler at exit.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livepage.origins import Origin

_PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
last = ""
for line in sys.stdin:
    last = line.strip()
if last:
    sys.stderr.write(last + ": the process ended while this line ran\\n")
"""

_process: subprocess.Popen[str] | None = None


def note(origin: Origin | None) -> None:
    """Say which line runs now, or with None that nothing does."""
    global _process  # noqa: PLW0603 - one witness for the process
    if _process is None or _process.poll() is not None:
        program = [sys.executable, "-I", "-S", "-c", _PROGRAM]
        _process = subprocess.Popen(program, stdin=subprocess.PIPE, text=True, encoding="utf-8")
    if _process.stdin:
        with contextlib.suppress(OSError):
            _process.stdin.write(f"{origin or ''}\n")
            _process.stdin.flush()
