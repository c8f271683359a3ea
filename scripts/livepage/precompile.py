"""Work ahead of a build: a second process runs the pages from the last to the first, for what their caches lack.

A build works on one core most of the time. What it comes to later, this process has done by then; what both come to at
once is done twice, to the same. Nothing else leaves the process, so that a build is what it is without it.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import GARBAGE, project

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = 4
"""The piece of slow work at which it is worth to start: a page may ask for some that fails, and is never kept."""

LONGEST = 60
"""Seconds that the end waits for the piece of work that is under way."""


class Precompile(logging.Handler):
    """Hears of the slow work of one build, and starts the process at one of the first pieces."""

    def __init__(self, pages: Sequence[Path]) -> None:
        """Take the pages, in the order of the build."""
        super().__init__(logging.INFO)
        self.pages = pages
        self.log = logging.getLogger(project.adapter.slow_work) if project.adapter.slow_work else None
        self.heard = 0
        self.process: subprocess.Popen[bytes] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Count a piece of work."""
        del record
        self.heard += 1
        if self.heard == FIRST and count_cores() > 1:
            self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "livepage.precompile", *map(str, reversed(self.pages))]
        none = subprocess.DEVNULL  # whatever a page says or fails with, the build will hear again
        return subprocess.Popen(command, cwd=project.root, stdin=subprocess.PIPE, stdout=none, stderr=none)

    def begin(self) -> None:
        """Listen."""
        if self.log:
            self.log.addHandler(self)

    def end(self) -> None:
        """End the process once its piece of work is done, that nothing half done stays behind."""
        if self.log:
            self.log.removeHandler(self)
        if self.process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=LONGEST)
        self.process.kill()
        self.process.wait()
        self.process = None


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(pages: Sequence[str]) -> None:
    """Run pages one after the other, until the build ends."""
    from livepage import render_one

    gc.set_threshold(*GARBAGE)
    # A build that a shell started in the background ignores the interrupt, and hands that on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_await_end, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(5)
    for page in pages:
        with contextlib.suppress(Exception):
            render_one.render(Path(page), Path.cwd())


def _await_end() -> None:
    """Interrupt the pages when nobody holds the other end of the standard input, as when the build was killed."""
    sys.stdin.buffer.read()
    _thread.interrupt_main()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
