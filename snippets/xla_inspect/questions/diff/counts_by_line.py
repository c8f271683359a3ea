"""Counts of a program by line of Python (kernels, runs of collectives, bytes at the peak), and their differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_held, model_launches
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.diff.difference import LineChange
from xla_inspect.questions.memory import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class LineCount:
    """A count, or a number of bytes, for one line of Python.

    Attributes:
        what: The kind of kernel or of collective, or the purpose of the memory.
        file: The file, or an empty string if no line is known.
        line: The line number, counted from one, or 0.
        text: The source text, which identifies a line even if its number changed.
        number: The number of kernels, runs of collectives, or bytes.
    """

    what: str
    file: str
    line: int
    text: str
    number: int

    @property
    def key(self) -> tuple[str, str, str]:
        """The key by which counts are matched: the kind, the file's base name, and the line's text or number."""
        return (self.what, self.file.rpartition("/")[2], self.text or str(self.line))


@dataclass(frozen=True)
class Tally:
    """The counts of a program by line.

    Attributes:
        kernels: Kernels by kind.
        collectives: Runs of collectives by kind and axes.
        memory: Bytes at the peak by purpose.
    """

    kernels: tuple[LineCount, ...]
    collectives: tuple[LineCount, ...]
    memory: tuple[LineCount, ...]


@dataclass(frozen=True)
class TallyChange:
    """The lines in which two tallies differ.

    Attributes:
        kernels: Lines whose number of kernels differs.
        collectives: Lines whose runs of collectives differ.
        memory: Lines whose bytes at the peak differ.
    """

    kernels: tuple[LineChange, ...]
    collectives: tuple[LineChange, ...]
    memory: tuple[LineChange, ...]


def tally(capture: Capture) -> Tally:
    """Return a capture's kernels, runs of collectives and peak bytes by line, as far as its compilation got."""
    return Tally(_join(_count_kernels(capture)), _join(_count_exchanges(capture)), _join(_measure(capture)))


def compare_tallies(first: Tally, second: Tally) -> TallyChange:
    """Return the lines in which two tallies differ. Lines are matched by text, since edits above change numbers."""
    return TallyChange(
        _compare(first.kernels, second.kernels),
        _compare(first.collectives, second.collectives),
        _compare(first.memory, second.memory),
    )


def _count_kernels(capture: Capture) -> Iterable[LineCount]:
    for launch in model_launches(capture) if capture.after else ():
        if launch.launch.role == "kernel":
            line = launch.lines[0] if launch.lines else None
            yield _count(capture, launch.launch.kind, line.file if line else "", line.number if line else 0, 1)


def _count_exchanges(capture: Capture) -> Iterable[LineCount]:
    for exchange in find_exchanges(capture.program, capture, {}).exchanges:
        place = exchange.places[0] if exchange.places else None
        what = f"{exchange.kind} {'x'.join(exchange.axes) or exchange.group}"
        file, line = (place.file, place.line) if place else ("", 0)
        yield _count(capture, what, file, line, exchange.assumed_runs)


def _measure(capture: Capture) -> Iterable[LineCount]:
    """Yield the planned bytes at the memory peak by purpose and line, and those of each argument by its name."""
    for value in list_held(capture):
        if value.line is not None:
            yield _count(capture, ROLES[value.role], value.line.file, value.line.number, value.size)
        # An argument comes from no line, so its name identifies it.
        elif value.role == "argument":
            yield _count(capture, f"argument {value.name}", "", 0, value.size)


def _count(capture: Capture, what: str, file: str, line: int, number: int) -> LineCount:
    lines = capture.sources.get(file, "").splitlines()
    return LineCount(what, file, line, lines[line - 1].strip() if 0 < line <= len(lines) else "", number)


def _join(counts: Iterable[LineCount]) -> tuple[LineCount, ...]:
    """Return the sums of the counts with equal keys."""
    sums: dict[tuple[str, str, str], LineCount] = {}
    for count in counts:
        # Several kernels of one kind may come from the same line.
        before = sums[count.key].number if count.key in sums else 0
        sums[count.key] = LineCount(count.what, count.file, count.line, count.text, before + count.number)
    return tuple(sums.values())


def _compare(first: tuple[LineCount, ...], second: tuple[LineCount, ...]) -> tuple[LineChange, ...]:
    before, after = ({count.key: count for count in of} for of in (first, second))
    changes = []
    # A line may exist on only one side, where the other side counts as zero.
    for key in dict.fromkeys((*before, *after)):
        numbers = tuple(of[key].number if key in of else 0 for of in (before, after))
        if numbers[0] != numbers[1]:
            # The second side is usually the current code, so its line number is the useful one.
            line = after.get(key) or before[key]
            changes.append(LineChange(line.what, line.file, line.line, line.text, *numbers))
    return tuple(changes)
