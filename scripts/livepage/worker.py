"""Run the pages that are named on the standard input, and hand back what each came to, for `livepage.workers`.

Each page runs as it does in a build, and what it comes to is kept; nothing is rendered.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import signal
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import IO

from livepage import render_one
from livepage.read import GARBAGE, Answer, Failure, Origin, log, project
from livepage.run import LINE_LOG
from livepage.workers import LINES, WORK

_leave = os._exit  # which a page must not call


class _Teller(logging.Handler):
    """Hands on what is logged: its kind, or its level, and the text."""

    def __init__(self, output: IO[bytes], kind: str = "") -> None:
        super().__init__(logging.INFO)
        self.output, self.kind = output, kind

    def emit(self, record: logging.LogRecord) -> None:
        _tell(self.output, (self.kind or record.levelno, record.getMessage()))


def _tell(output: IO[bytes], message: object) -> None:
    output.write(pickle.dumps(message))
    output.flush()


def main() -> None:
    """Run pages one after the other, until nobody holds the other end of the standard input."""
    gc.set_threshold(*GARBAGE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the build ends this process
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a page lets be printed past Python is no answer
    config = render_one.load_project(Path.cwd())
    tellers = {log.name: "", LINE_LOG: LINES, project.adapter.slow_work: WORK}
    for name in filter(None, tellers):
        logger = logging.getLogger(name)
        logger.addHandler(_Teller(output, tellers[name]))
        logger.setLevel(logging.INFO)
        logger.propagate = False
    jobs: Queue[str] = Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    while True:
        page = jobs.get()
        try:
            answer = render_one.run_only(Path(page), config)
        except Exception as error:  # noqa: BLE001 - whatever it is, the build must hear of it
            answer = Answer(failure=Failure(Origin(page, 1), f"{type(error).__name__}: {error}"))
        _tell(output, answer)


def _read(jobs: Queue[str]) -> None:
    """Hand on what is read; end the process, whatever runs, when the other end is closed."""
    for line in sys.stdin:
        jobs.put(line.strip())
    _leave(0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
