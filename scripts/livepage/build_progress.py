"""The progress report of a build's page processes: one updating line in a terminal, or a log line every ten seconds."""

from __future__ import annotations

import logging
import re
import sys
import time
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from livepage.read import log, project

if TYPE_CHECKING:
    from collections.abc import Iterable

PAUSE = 10.0
"""Seconds between two progress lines in a log."""

_RUNS = re.compile(r"^ *```[a-z]+ (?:exec|check)=|`= |^# %%(?! \[markdown\])", re.MULTILINE)
_WIDTH = 100
_CLEAR = "\r\x1b[2K"


@dataclass
class Progress:
    """The progress of a build through the pages that run in other processes.

    Attributes:
        weights: The number of items to run on each page: blocks, checks, values and cells.
        work: The number of slow operations that have finished, such as compilations.
        done: The pages that have finished.
    """

    weights: dict[str, int] = field(default_factory=dict)
    work: int = 0
    done: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Start the clock, and find the log handlers that share the terminal."""
        self.started = self._told = time.monotonic()
        self._lock = Lock()
        # In a terminal the progress line is overwritten, so it must be erased before each log message is printed.
        self._handlers = [*logging.getLogger("mkdocs").handlers] if sys.stderr.isatty() else []
        for handler in self._handlers:
            handler.addFilter(self._clear)

    def begin(self) -> None:
        """Reset the clock, and forget all pages and counts."""
        self.weights, self.work, self.done, self.started = {}, 0, set(), time.monotonic()

    def note_work(self, page: str) -> None:
        """Count one finished slow operation of a page, and report the progress."""
        with self._lock:
            self.work += 1
        self._tell(page)

    def note_done(self, page: str) -> None:
        """Count a page as finished, and report the progress."""
        with self._lock:
            self.done.update({page} & self.weights.keys())
        self._tell(page)

    def find_share(self) -> float:
        """Return the finished pages' share of all items to run, between 0 and 1; it is 1 if nothing runs."""
        finished, total = self._add_up()
        return finished / total if total else 1.0

    def describe(self, page: str = "") -> str:
        """Return one line: compilations, finished pages, the time left once a page is done, and `page` if it runs."""
        finished_weight, total = self._add_up()
        text = f"{self.work} compiled, {len(self.done)} of {len(self.weights)} pages done"
        # Before the first page has finished, no speed is known from which to estimate the remaining time.
        if finished_weight and finished_weight < total:
            seconds = (time.monotonic() - self.started) * (total - finished_weight) / finished_weight
            text += f", {_name_time(seconds)} left"
        return f"{text}; now {page}" if page and page not in self.done else text

    def end(self) -> None:
        """Erase the progress line from the terminal."""
        if self._handlers:
            self._clear()
        for handler in self._handlers:
            handler.removeFilter(self._clear)

    def _add_up(self) -> tuple[int, int]:
        return sum(self.weights[name] for name in self.done), sum(self.weights.values())

    def _clear(self, _record: object = None) -> bool:
        sys.stderr.write(_CLEAR)
        return True

    def _tell(self, page: str) -> None:
        if self._handlers:
            sys.stderr.write(f"{_CLEAR}{self.describe(page)[:_WIDTH]}")
            sys.stderr.flush()
        elif time.monotonic() - self._told >= PAUSE:
            self._told = time.monotonic()
            log.info("%s", self.describe(page))


def weigh(pages: Iterable[str]) -> dict[str, int]:
    """Return the number of items to run on each page, by page name; pages with nothing to run are left out."""
    counts = {page: len(_RUNS.findall((project.root / page).read_text(encoding="utf-8"))) for page in pages}
    return {page: count for page, count in counts.items() if count}


def _name_time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return "less than a minute" if minutes < 1 else f"about {minutes} minute{'s' if minutes > 1 else ''}"
