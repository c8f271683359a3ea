"""Processes that run pages for a build, each page once: the one that is asked for first, then those that follow.

Only what slow work needs goes to them. What a page came to comes back pickled; a process that ends over a
page fails that page, and another takes its place.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from livepage.keep import page_store
from livepage.read import Answer, Failure, Origin, log, project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MOST = 4
"""How many processes run side by side at most: each takes a core, and up to a gigabyte."""

_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): the process ended while this line ran$", re.MULTILINE)


@dataclass
class Workers:
    """The processes of one build, or of one server.

    Attributes:
        pages: The names of the pages, in the order of the build, or in a server in that of reading.
        on_done: Who hears of each page that is done, in a thread of its own.
        on_work: Who hears of each piece of slow work, and of the page that asked for it.
        on_end: Who hears of the end.
        most: How many processes run side by side at most, once more is asked for.
        ran: The pages that ran.
        serves: Whether the site is served, and each page may be looked at while others run.
    """

    pages: Sequence[str]
    on_done: Callable[[str], None] = lambda _: None
    on_work: Callable[[str, str], None] = lambda _page, _work: None
    on_end: Callable[[], None] = lambda: None
    most: int = MOST
    ran: set[str] = field(default_factory=set)
    serves: bool = False
    waiting: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    answers: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with no process."""
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._processes: list[PageProcess] = []
        self._idle: list[PageProcess] = []
        self._ended = False
        self._asked = ""

    def ask(self, page: str) -> None:
        """Let a page run next, unless it runs already, and after it those that follow it."""
        with self._changed:
            self.answers.pop(page, None)
            if not self._threads and page in self.pages:
                self.waiting = [*self.pages[self.pages.index(page) + 1 :]]
            self._put_first(page)
            self._start()

    def _start(self) -> None:
        with self._changed:
            while len(self._threads) < min(count_cores(), self.most):
                number = len(self._threads)
                name = f"worker-{number}"
                self._threads.append(threading.Thread(target=self._serve, args=(number,), name=name, daemon=True))
                self._threads[-1].start()
            self._changed.notify_all()

    def ask_in_order(self, page: str) -> None:
        """Let a page run in its turn: after those that wait and stand before it in `pages`."""
        with self._changed:
            self.answers.pop(page, None)
            if page not in self.waiting:
                places = {name: place for place, name in enumerate(self.pages)}
                own = places.get(page, len(places))
                before = [at for at, name in enumerate(self.waiting, 1) if places.get(name, own) <= own]
                is_first_asked_for = self.waiting[:1] == [self._asked]
                self.waiting.insert(max(before, default=int(is_first_asked_for)), page)
            self._start()

    def widen(self) -> None:
        """Let as many processes run as there may be."""
        with self._changed:
            self.most = MOST
            if self.waiting:
                self._start()

    def prefer(self, page: str) -> None:
        """Let a page that waits run next."""
        with self._changed:
            if page in self.waiting:
                self._put_first(page)

    def obtain(self, page: str) -> Answer | None:
        """Return what a page came to, once it did; None where the processes end before."""
        with self._changed:
            if page not in self.answers and page not in self.running:
                self.ask(page)
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
        self.on_end()

    def _put_first(self, page: str) -> None:
        if page in self.running:
            return
        with contextlib.suppress(ValueError):
            self.waiting.remove(page)
        self.waiting.insert(0, page)
        self._asked = page

    def _take(self, number: int) -> str:
        """Wait for the page that a process runs next; an empty string at the end."""
        with self._changed:
            while not self._ended:
                if not (page := self.choose(number)):
                    self._changed.wait()
                    continue
                self.waiting.remove(page)
                if page == self._asked or not page_store.seems_kept(page):
                    self.running.add(page)
                    return page
                self.on_done(page)
            return ""

    def choose(self, number: int) -> str:
        """Return the page that a thread takes next: in a server every other thread begins at the end.

        So reading can begin, and a long page near the end is not left for one process to run at last.
        """
        is_from_start = not self.serves or number % 2 == 0 or self.waiting[:1] == [self._asked]
        return self.waiting[0 if is_from_start else -1] if self.waiting else ""

    def _serve(self, number: int) -> None:
        while page := self._take(number):
            process = self._find_process()
            answer = process.answer(page, self.on_work)
            with self._changed:
                self._idle.append(process)
                self.ran.add(page)
                self.running.discard(page)
                if self._ended:
                    return
                self.answers[page] = answer
                self._changed.notify_all()
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

    def answer(self, page: str, on_work: Callable[[str, str], None] = lambda _page, _work: None) -> Answer:
        """Let it run a page, and return what it came to, or how the process ended."""
        self.errors.seek(0, os.SEEK_END)
        start = self.errors.tell()
        with contextlib.suppress(OSError):
            self.popen.stdin.write(f"{page}\n".encode())  # type: ignore[union-attr]  # a pipe
            self.popen.stdin.flush()  # type: ignore[union-attr]  # likewise
        with contextlib.suppress(EOFError):
            while not isinstance(message := pickle.load(self.popen.stdout), Answer):  # type: ignore[arg-type]  # noqa: S301 - a pipe of our own process
                level, text = message
                if level is None:
                    on_work(page, text)
                else:
                    log.log(level, "%s", text)
            return message
        return Answer(failure=self._explain(page, self.popen.wait(), start))

    def _explain(self, page: str, code: int, start: int) -> Failure:
        """Return how the process ended, at the line of a page over which it did."""
        heard = ""
        for _ in range(20):  # who names the line hears of the end a moment later
            self.errors.seek(start)
            heard = self.errors.read()
            if place := _PLACE.search(heard):
                origin = Origin(place["file"], int(place["line"]))
                return Failure(origin, f"this line ended the process, with {_name_end(code)}")
            threading.Event().wait(0.1)
        last = heard.strip().rpartition("\n")[2]
        return Failure(Origin(page, 1), f"the process that ran this page ended, with {_name_end(code)}: {last}")


def _name_end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
