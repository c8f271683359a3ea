"""The estimated time of two programs and of their lines of Python, and the sentences that compare them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.estimates import Estimate, time_program
from xla_inspect.answers import Table, explain_times, name_line, say_time, show_range
from xla_inspect.questions.time import time_lines
from xla_inspect.units import format_seconds, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture

_MOST_ROWS, _LONGEST_TEXT = 6, 60
NOISE = "may be an error of the estimates"
"""The caution about a difference of two estimates whose ranges overlap."""


@dataclass(frozen=True)
class LineTime:
    """The estimated time of a line of Python on both sides.

    Attributes:
        where: The line, as in `model.py:12`, on the second side if that side has it; empty without a known line.
        text: The source text, which identifies a line even if its number changed.
        left: The time on the first side in seconds.
        right: The time on the second side.
    """

    where: str
    text: str
    left: Estimate
    right: Estimate

    @property
    def change(self) -> float:
        """The likely seconds that the second side takes longer."""
        return self.right.likely - self.left.likely

    @property
    def is_noise(self) -> bool:
        """True if the ranges of both sides overlap."""
        later = max(self.left.low, self.right.low)
        return self.left.may_be(later) and self.right.may_be(later)


@dataclass(frozen=True)
class TimeChange:
    """The estimated time of a step on both sides.

    Attributes:
        step: The time of the whole step.
        lines: The lines whose time differs, the largest change first.
        limits: The limits of the estimates.
    """

    step: LineTime
    lines: tuple[LineTime, ...]
    limits: str


def compare_times(first: Capture, second: Capture) -> TimeChange | None:
    """Return the estimated times of two programs, or None if one of them has no estimate."""
    old, new = (None if capture.error else time_program(capture) for capture in (first, second))
    if not (old and new):
        return None
    places: dict[tuple[str, str], str] = {}
    times: tuple[dict[tuple[str, str], Estimate], ...] = ({}, {})
    sides = [time_lines(capture, step) for capture, step in ((first, old), (second, new))]
    files = [{line.where.partition(":")[0] for line in side} for side in sides]
    for side, of in zip(sides, times, strict=True):
        # The longest of the lines with the same text gives the place. The lines begin with the longest.
        for line in reversed(side):
            # The text identifies a line, since edits above it change its number. A file may have another name.
            file = line.where.partition(":")[0]
            key = (file if all(file in names for names in files) else "", line.text or line.where)
            places[key] = line.where
            of[key] = of.get(key, Estimate()) + line.time
    lines = [
        LineTime(where, key[1] if key[1] != where else "", *(of.get(key, Estimate()) for of in times))
        for key, where in places.items()
    ]
    return TimeChange(
        LineTime("", "", old.seconds, new.seconds),
        tuple(sorted((line for line in lines if line.change), key=lambda line: -abs(line.change))),
        explain_times({first.target: old, second.target: new}),
    )


def tell_times(times: TimeChange, heads: tuple[str, ...]) -> Iterator[Part]:
    """Yield the times of both sides with the line that got slower the most, a table of lines, and the limits."""
    step = times.step
    share = f", {step.change / step.left.likely:+.0%}" if step.left.likely and step.change else ""
    caution = f" The ranges overlap, so the difference {NOISE}." if step.change and step.is_noise else ""
    slower = max((line for line in times.lines if line.change > 0), key=lambda line: line.change, default=None)
    most = ""
    if slower:
        reason = ", too" if step.is_noise else ", since its ranges overlap"
        overlap = f"; this {NOISE}{reason}" if slower.is_noise else ""
        most = (
            f" The line that got slower the most: {_name(slower)}, {format_seconds(slower.left.likely)} -> "
            f"{format_seconds(slower.right.likely)}{overlap}."
        )
    yield f"Time of a step: {say_time(step.left)} -> {say_time(step.right)}{share}.{caution}{most}"
    rows = tuple(
        (
            *(format_seconds(time.likely) for time in (line.left, line.right)),
            *(show_range(time) if time.high else "" for time in (line.left, line.right)),
            _name(line),
        )
        for line in times.lines[:_MOST_ROWS]
    )
    if rows:
        more = f" (the {len(rows)} largest changes of {len(times.lines)})" if len(times.lines) > len(rows) else ""
        yield Table((*heads, "first range", "second range", "line"), rows, (0, 1), f"Time by line{more}")
    yield times.limits


def _name(line: LineTime) -> str:
    return shorten(name_line(line.where, line.text), _LONGEST_TEXT)
