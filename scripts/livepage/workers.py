"""Processes that run pages for a build, each page once: the one that is asked for first, then those that follow.

Only what slow work needs goes to them. What a page came to comes back pickled; a process that ends over a
page fails that page, and another takes its place.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from livepage.build_progress import Progress
from livepage.keep import page_store
from livepage.read import Answer, Failure, Origin, log, project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MOST = 4
"""How many processes run side by side at most: each takes a core, and up to a gigabyte."""

WORK, LINES = "work", "lines"
"""The kinds of messages of a process that are no log: a piece of slow work, and the line of a page that runs now."""


@dataclass
class Workers:
    """The processes of one build, or of one server.

    Attributes:
        pages: The names of the pages, in the order in which they run.
        progress: The record of what they have done.
        on_done: Hears of each page that is done, in a thread of its own.
        ran: The pages that ran.
        waiting: The pages that are to run.
        wanted: Those that come before the others, the last one first.
        running: The pages that run.
        answers: The outcomes of pages that ran, until somebody takes them.
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
        """Begin with no process."""
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._processes: list[PageProcess] = []
        self._idle: list[PageProcess] = []
        self._ended = False

    def start(self) -> None:
        """Let what waits run, in as many processes as there may be."""
        with self._changed:
            while len(self._threads) < min(count_cores(), MOST):
                self._threads.append(threading.Thread(target=self._serve, daemon=True))
                self._threads[-1].start()

    def ask(self, page: str) -> None:
        """Let a page run in its turn."""
        with self._changed:
            self.waiting.add(page)
            self._changed.notify_all()

    def prefer(self, page: str) -> None:
        """Let a page that waits run next."""
        with self._changed:
            if page in self.waiting:
                self.wanted.append(page)

    def obtain(self, page: str) -> Answer | None:
        """Return what a page came to, once it did; None where the processes end before."""
        with self._changed:
            if page not in self.answers and page not in self.running:
                self.ask(page)
                self.prefer(page)
            self.start()
            self.await_answer(page, None)
            return self.answers.pop(page, None)

    def await_answer(self, page: str, timeout: float | None) -> None:
        """Wait until a page came to something, for some seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: page in self.answers or self._ended, timeout)

    def end(self) -> None:
        """End the processes."""
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
        """Return the page that runs next: the one that was wanted last, or the first in the order of the pages."""
        wanted = [page for page in self.wanted if page in self.waiting]
        places = {name: place for place, name in enumerate(self.pages)}
        return wanted[-1] if wanted else min(self.waiting, key=lambda page: places.get(page, len(places)))

    def _take(self) -> str:
        """Wait for the page that a process runs next; an empty string at the end."""
        with self._changed:
            while not self._ended:
                if not self.waiting:
                    self._changed.wait()
                    continue
                page = self.choose()
                self.waiting.remove(page)
                if page in self.wanted or not page_store.seems_kept(page):
                    self.wanted = [name for name in self.wanted if name != page]
                    self.running.add(page)
                    return page
                self._end_page(page)
            return ""

    def _serve(self) -> None:
        while page := self._take():
            process = self._find_process()
            answer = process.answer(page, self.progress)
            with self._changed:
                self._idle.append(process)
                self.ran.add(page)
                self.running.discard(page)
                if self._ended:
                    return
                self.answers[page] = answer
                self._changed.notify_all()
            self._end_page(page)

    def _end_page(self, page: str) -> None:
        self.progress.note_done(page)
        self.on_done(page)

    def _find_process(self) -> PageProcess:
        """Return the process that was busy last, in which most is imported already, or a new one."""
        with self._changed:
            while self._idle:
                if (process := self._idle.pop()).popen.poll() is None:
                    return process
            self._processes.append(PageProcess(project.root))
            return self._processes[-1]


class PageProcess:
    """One process, and the file that holds what it wrote to its standard error."""

    def __init__(self, folder: Path, module: str = "livepage.worker", *words: str, **variables: str) -> None:
        """Start it.

        Args:
            folder: The project.
            module: What runs.
            words: Its arguments.
            variables: What its environment has besides.
        """
        self.errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - as long as the process
        self.popen = subprocess.Popen(
            [sys.executable, "-m", module, *words], cwd=folder, env=os.environ | variables,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def answer(self, page: str, progress: Progress | None = None) -> Answer:
        """Let it run a page, and return what it came to, or how the process ended."""
        self.line = ""
        self.errors.seek(0, os.SEEK_END)
        start = self.errors.tell()
        with contextlib.suppress(OSError):
            self.popen.stdin.write(f"{page}\n".encode())  # type: ignore[union-attr]  # a pipe
            self.popen.stdin.flush()  # type: ignore[union-attr]  # likewise
        with contextlib.suppress(EOFError):
            while not isinstance(message := pickle.load(self.popen.stdout), Answer):  # type: ignore[arg-type]  # noqa: S301 - a pipe of our own process
                kind, text = message
                if kind == LINES:
                    self.line = text
                elif kind != WORK:
                    log.log(kind, "%s", text)
                elif progress:
                    progress.note_work(page)
            return message
        return Answer(failure=self._explain(page, self.popen.wait(), start))

    def _explain(self, page: str, code: int, start: int) -> Failure:
        """Return how the process ended, at the line of a page over which it did."""
        if self.line:
            file, _, line = self.line.rpartition(":")
            return Failure(Origin(file, int(line)), f"this line ended the process, with {_name_end(code)}")
        self.errors.seek(start)
        last = self.errors.read().strip().rpartition("\n")[2]
        return Failure(Origin(page, 1), f"the process that ran this page ended, with {_name_end(code)}: {last}")


def _name_end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
