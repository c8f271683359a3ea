"""The process that runs pages for `livepage.workers`: it reads names from standard input and writes outcomes.

Each page runs as in a build, and its outcomes are stored and written to standard output, pickled; nothing is rendered.
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

_leave = os._exit  # saved here, since it is replaced while a page runs: pages must not call it


class _Teller(logging.Handler):
    """The log handler that sends each message to the build, with its kind or its level."""

    def __init__(self, output: IO[bytes], kind: str = "") -> None:
        super().__init__(logging.INFO)
        self.output, self.kind = output, kind

    def emit(self, record: logging.LogRecord) -> None:
        _tell(self.output, (self.kind or record.levelno, record.getMessage()))


def _tell(output: IO[bytes], message: object) -> None:
    output.write(pickle.dumps(message))
    output.flush()


def main() -> None:
    """Run one page after another until the standard input is closed."""
    gc.set_threshold(*GARBAGE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the build, which ends this process
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # native code prints to file descriptor 1, which must not mix with the answers
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
        except Exception as error:  # noqa: BLE001 - every error must reach the build
            answer = Answer(failure=Failure(Origin(page, 1), f"{type(error).__name__}: {error}"))
        _tell(output, answer)


def _read(jobs: Queue[str]) -> None:
    """Queue the pages from standard input; end the process as soon as the input is closed, even while a page runs."""
    for line in sys.stdin:
        jobs.put(line.strip())
    _leave(0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
