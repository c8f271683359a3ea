"""The progress report of a build's page processes: one updating line in a terminal, or a log line every ten seconds."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from livepage.read import log, project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PAUSE = 10.0
"""Seconds between two progress lines in a log, and between two estimates of the time left."""

_RUNS = re.compile(r"^ *```[a-z]+ (?:exec|check)=|`= |^# %%(?! \[markdown\])", re.MULTILINE)
COSTS = "LIVEPAGE_COSTS"
"""The environment variable with the path of a file to which a build writes what its pages cost."""

_SILENT = 20.0
"""Seconds before the first estimate of the time left, since the first pages say little about the others."""
_LEAST_SHARE = 0.02
"""The share of the expected time before the first estimate: the first compilation of a process loads the compiler."""
_MOST_BEFORE_END = 0.95
"""The largest share of a page that counts before it has finished."""
_WIDTH = 100
_CLEAR = "\r\x1b[2K"


class Cost(NamedTuple):
    """The cost of a page in a build without caches.

    Attributes:
        seconds: The time that the page took on one core.
        work: The number of slow operations, such as compilations.
    """

    seconds: float
    work: int


@dataclass
class Progress:
    """The progress of a build through the pages that run in other processes.

    Attributes:
        costs: The expected cost of each page.
        work: The number of slow operations that have finished, such as compilations, by page.
        done: The pages that have finished.
        measured: The cost of each page that has finished.
    """

    costs: dict[str, Cost] = field(default_factory=dict)
    work: Counter[str] = field(default_factory=Counter)
    done: set[str] = field(default_factory=set)
    measured: dict[str, Cost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start the clock, and find the log handlers that share the terminal."""
        self.started = self._told = time.monotonic()
        self._estimate: tuple[float, float] | None = None
        self._lock = Lock()
        # In a terminal the progress line is overwritten, so it must be erased before each log message is printed.
        self._handlers = [*logging.getLogger("mkdocs").handlers] if sys.stderr.isatty() else []
        for handler in self._handlers:
            handler.addFilter(self._clear)

    def begin(self) -> None:
        """Reset the clock, and forget all pages and counts."""
        self.costs, self.work, self.done = {}, Counter(), set()
        self.started, self._estimate = time.monotonic(), None

    def note_work(self, page: str) -> None:
        """Count one finished slow operation, and report the progress."""
        with self._lock:
            self.work[page] += 1
        self._tell(page)

    def note_done(self, page: str, seconds: float | None = None) -> None:
        """Count a page as finished, after `seconds` if it ran, and report the progress."""
        with self._lock:
            self.done.update({page} & self.costs.keys())
            if seconds is not None:
                self.measured[page] = Cost(round(seconds, 1), self.work[page])
        self._tell(page)

    def find_share(self) -> float:
        """Return the share of the expected time of all pages that has passed, between 0 and 1."""
        total = sum(cost.seconds for cost in self.costs.values())
        return sum(cost.seconds * self._find_part(page) for page, cost in self.costs.items()) / total if total else 1.0

    def describe(self, page: str = "") -> str:
        """Return the progress as one line of text: counts, the estimated time left, and the page that runs now."""
        text = f"{self.work.total()} compiled, {len(self.done)} of {len(self.costs)} pages done"
        seconds = self._estimate_left(time.monotonic())
        if seconds is not None and self.done < self.costs.keys():
            text += f", {_name_time(seconds)} left"
        return f"{text}; now {page}" if page and page not in self.done else text

    def _find_part(self, page: str) -> float:
        """Return the share of a page that has finished; the operations of a page that runs tell how far it is."""
        if page in self.done:
            return 1.0
        work = self.costs[page].work
        return min(self.work[page] / work, _MOST_BEFORE_END) if work else 0.0

    def _estimate_left(self, now: float) -> float | None:
        """Return the estimated seconds until the end, or None while too little has run to tell.

        A new estimate is made after each pause, and differs from what is left of the one before it by at most a factor
        of two.
        """
        share = self.find_share()
        if now - self.started < _SILENT or share < _LEAST_SHARE:
            return None
        seconds = (now - self.started) * (1 - share) / share
        if self._estimate:
            earlier, then = self._estimate
            expected = max(earlier - (now - then), PAUSE)
            if now - then < PAUSE:
                return expected
            seconds = min(max(seconds, expected / 2), expected * 2)
        self._estimate = seconds, now
        return seconds

    def end(self) -> None:
        """Erase the progress line from the terminal."""
        if self._handlers:
            self._clear()
        for handler in self._handlers:
            handler.removeFilter(self._clear)

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


def expect(pages: Iterable[str]) -> dict[str, Cost]:
    """Return the expected cost of each page, by page name; pages with nothing to run are left out.

    A page that is not in the project's table costs as much for each block, check, value and cell as the others.
    """
    texts = {page: (project.root / page).read_text(encoding="utf-8") for page in pages}
    items = {page: count for page, text in texts.items() if (count := len(_RUNS.findall(text)))}
    table = project.root / project.adapter.page_costs
    entries = json.loads(table.read_text(encoding="utf-8")) if project.adapter.page_costs and table.is_file() else {}
    costs = {page: Cost(*entries[page]) for page in items if page in entries}
    usual = sum(cost.seconds for cost in costs.values()) / sum(items[page] for page in costs) if costs else 1.0
    return {page: costs.get(page) or Cost(usual * count, 0) for page, count in items.items()}


def write_costs(costs: Mapping[str, Cost], path: Path) -> None:
    """Write the costs of pages as the table that `expect` reads, one page in a line."""
    rows = (f"  {json.dumps(page)}: {json.dumps(cost)}" for page, cost in sorted(costs.items()))
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8", newline="\n")


def _name_time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return "less than a minute" if minutes < 1 else f"about {minutes} minute{'s' if minutes > 1 else ''}"
