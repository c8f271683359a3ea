"""The processes that run pages for a build: requested pages run first, then the others in order, each page once.

Only pages with code run there. The outcomes of a page come back pickled. If a process ends while it runs a page,
that page fails, and another process takes its place.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from livepage.build_progress import Progress
from livepage.keep import page_store
from livepage.read import Answer, Failure, Origin, log, project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MOST = 4
"""The largest number of processes that run at the same time: each uses one core and up to a gigabyte of memory."""

WORK, LINES = "work", "lines"
"""The kinds of messages from a process that are not log records: a finished slow operation, and the line that runs."""


@dataclass
class Workers:
    """The processes that run pages for one build or one server.

    Attributes:
        pages: The names of the pages, in the order in which they run.
        progress: The record of the finished work.
        on_done: The function that is called with each finished page, in a thread of its own.
        ran: The pages that ran.
        waiting: The pages that have not started yet.
        wanted: The pages that run before the others, the most urgent one last.
        running: The pages that are running.
        answers: The outcomes of finished pages that nobody has collected yet.
    """

    pages: Sequence[str]
    progress: Progress = field(default_factory=Progress)
    on_done: Callable[[str], None] = lambda _: None
    ran: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    wanted: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    answers: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Set up the lock and the lists; no process starts yet."""
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._processes: list[PageProcess] = []
        self._idle: list[PageProcess] = []
        self._ended = False

    def start(self) -> None:
        """Start running the waiting pages, in one process per core up to the limit `MOST`."""
        with self._changed:
            while len(self._threads) < min(count_cores(), MOST):
                self._threads.append(threading.Thread(target=self._serve, daemon=True))
                self._threads[-1].start()

    def ask(self, page: str) -> None:
        """Queue a page to run in its normal order."""
        with self._changed:
            self.waiting.add(page)
            self._changed.notify_all()

    def prefer(self, page: str) -> None:
        """Move a waiting page to the front of the queue."""
        with self._changed:
            if page in self.waiting:
                self.wanted.append(page)

    def obtain(self, page: str) -> Answer | None:
        """Run a page next, wait for it, and return its outcomes, or None if the processes end before that."""
        with self._changed:
            if page not in self.answers and page not in self.running:
                self.ask(page)
                self.prefer(page)
            self.start()
            self.await_answer(page, None)
            return self.answers.pop(page, None)

    def await_answer(self, page: str, timeout: float | None) -> None:
        """Wait until a page has finished, for at most `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: page in self.answers or self._ended, timeout)

    def end(self) -> None:
        """End all processes and threads."""
        with self._changed:
            self._ended = True
            self.waiting.clear()
            self._changed.notify_all()
        for process in self._processes:
            process.popen.kill()
            process.popen.wait()
        for thread in self._threads:
            thread.join(timeout=5)
        self.progress.end()

    def choose(self) -> str:
        """Return the page that runs next: the last page moved to the front, or the first in the order of the pages."""
        urgent = [page for page in self.wanted if page in self.waiting]
        places = {name: place for place, name in enumerate(self.pages)}
        return urgent[-1] if urgent else min(self.waiting, key=lambda page: places.get(page, len(places)))

    def _take(self) -> str:
        """Return the next page to run, waiting if necessary; return an empty string after the end."""
        with self._changed:
            while not self._ended:
                if not self.waiting:
                    self._changed.wait()
                    continue
                page = self.choose()
                self.waiting.remove(page)
                # A page with a valid stored result does not run, unless it was requested: the build reads the store.
                if page in self.wanted or not page_store.seems_kept(page):
                    self.wanted = [name for name in self.wanted if name != page]
                    self.running.add(page)
                    return page
                self._end_page(page)
            return ""

    def _serve(self) -> None:
        while page := self._take():
            process, start = self._find_process(), time.monotonic()
            answer = process.answer(page, self.progress)
            with self._changed:
                self._idle.append(process)
                self.ran.add(page)
                self.running.discard(page)
                if self._ended:
                    return
                self.answers[page] = answer
                self._changed.notify_all()
            self._end_page(page, time.monotonic() - start)

    def _end_page(self, page: str, seconds: float | None = None) -> None:
        self.progress.note_done(page, seconds)
        self.on_done(page)

    def _find_process(self) -> PageProcess:
        """Return the idle process that was busy last, which has imported the most modules, or a new process."""
        with self._changed:
            while self._idle:
                if (process := self._idle.pop()).popen.poll() is None:
                    return process
            self._processes.append(PageProcess(project.root))
            return self._processes[-1]


class PageProcess:
    """A process that runs pages, with a temporary file for its standard error."""

    def __init__(self, folder: Path, module: str = "livepage.worker", *words: str, **variables: str) -> None:
        """Start the process.

        Args:
            folder: The project's folder.
            module: The Python module that the process runs.
            words: The command-line arguments of the module.
            variables: Environment variables to add.
        """
        self.errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - open as long as the process
        self.popen = subprocess.Popen(
            [sys.executable, "-m", module, *words], cwd=folder, env=os.environ | variables,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def answer(self, page: str, progress: Progress | None = None) -> Answer:
        """Run a page in the process, and return its outcomes, or a failure that says how the process ended.

        Afterwards, `slowest` contains the seconds and the line of the statement that took longest.
        """
        self.line, self.slowest, since = "", (0.0, ""), time.monotonic()
        self.errors.seek(0, os.SEEK_END)
        start = self.errors.tell()
        with contextlib.suppress(OSError):
            self.popen.stdin.write(f"{page}\n".encode())  # type: ignore[union-attr]  # a pipe
            self.popen.stdin.flush()  # type: ignore[union-attr]  # also a pipe
        with contextlib.suppress(EOFError):
            while not isinstance(message := pickle.load(self.popen.stdout), Answer):  # type: ignore[arg-type]  # noqa: S301 - a pipe of our own process
                kind, text = message
                if kind == LINES:
                    now = time.monotonic()
                    self.slowest = max(self.slowest, (now - since, self.line))
                    self.line, since = text, now
                elif kind != WORK:
                    log.log(kind, "%s", text)
                elif progress:
                    progress.note_work(page)
            self.slowest = max(self.slowest, (time.monotonic() - since, self.line))
            return message
        return Answer(failure=self._explain(page, self.popen.wait(), start))

    def _explain(self, page: str, code: int, start: int) -> Failure:
        """Return the failure of a process that ended, at the line that was running, or else at the first line."""
        if self.line:
            file, _, line = self.line.rpartition(":")
            return Failure(Origin(file, int(line)), f"this line ended the process, with {_name_end(code)}")
        self.errors.seek(start)
        last = self.errors.read().strip().rpartition("\n")[2]
        return Failure(Origin(page, 1), f"the process that ran this page ended, with {_name_end(code)}: {last}")


def _name_end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
