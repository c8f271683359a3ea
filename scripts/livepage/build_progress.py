"""How far the processes of a build are: one line that moves in a terminal, a line every ten seconds in a log."""

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
"""Seconds between two lines in a log."""

_RUNS = re.compile(r"^ *```[a-z]+ (?:exec|check)=|`= |^# %%(?! \[markdown\])", re.MULTILINE)
_WIDTH = 100
_CLEAR = "\r\x1b[2K"


@dataclass
class Progress:
    """How far a build is with the pages that run in other processes.

    Attributes:
        weights: How much there is to run on each page: blocks, checks, values and cells.
        work: How many pieces of slow work were done.
        done: The pages that are done.
    """

    weights: dict[str, int] = field(default_factory=dict)
    work: int = 0
    done: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin now."""
        self.started = self._told = time.monotonic()
        self._lock = Lock()
        # A line of a terminal is written over, and makes room for what is logged.
        self._handlers = [*logging.getLogger("mkdocs").handlers] if sys.stderr.isatty() else []
        for handler in self._handlers:
            handler.addFilter(self._clear)

    def begin(self) -> None:
        """Begin again, with nothing to run yet."""
        self.weights, self.work, self.done, self.started = {}, 0, set(), time.monotonic()

    def note_work(self, page: str) -> None:
        """Count a piece of slow work."""
        with self._lock:
            self.work += 1
        self._tell(page)

    def note_done(self, page: str) -> None:
        """Count a page."""
        with self._lock:
            self.done.update({page} & self.weights.keys())
        self._tell(page)

    def find_share(self) -> float:
        """Return how much of it is done, from nothing to one."""
        done, total = self._add_up()
        return done / total if total else 1.0

    def describe(self, page: str = "") -> str:
        """Return how far it is, in one line."""
        done, total = self._add_up()
        said = f"{self.work} compiled, {len(self.done)} of {len(self.weights)} pages done"
        if done and done < total:
            left = (time.monotonic() - self.started) * (total - done) / done
            said += f", {_name_time(left)} left"
        return f"{said}; now {page}" if page and page not in self.done else said

    def end(self) -> None:
        """Take the line away."""
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
    """Return how much there is to run on each of some pages, by their names; those with nothing to run are left out."""
    counts = {page: len(_RUNS.findall((project.root / page).read_text(encoding="utf-8"))) for page in pages}
    return {page: count for page, count in counts.items() if count}


def _name_time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return "less than a minute" if minutes < 1 else f"about {minutes} minute{'s' if minutes > 1 else ''}"
