"""The memory plan: `buffer-assignment.txt` and `live-range.txt` as data, and the two joined by value."""

from __future__ import annotations

import re
from bisect import insort
from typing import TYPE_CHECKING, NoReturn

from xla_inspect.analysis.allocation import Allocation, BufferAssignment, LiveRange, LiveRanges, Placement, Value
from xla_inspect.analysis.traffic import MAIN
from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo import NAME, ShapeProblemError, read_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.hlo import Shape


def place_buffers(assignment: BufferAssignment, live_ranges: LiveRanges) -> tuple[Placement, ...]:
    """Join places and live ranges: one row for each value, in the order of the allocations.

    Values of computations that run inside a kernel have no live range of their own.
    """
    rows = []
    for allocation, value in assignment.values():
        live = live_ranges.by_value.get((value.instruction, value.index))
        start, end = (live.start, live.end) if live else (None, None)
        rows.append(
            Placement(
                value.instruction,
                value.index,
                allocation.number,
                allocation.kind,
                value.color,
                value.offset,
                value.size,
                start,
                end,
            )
        )
    return tuple(rows)


def place_temporaries(assignment: BufferAssignment, live_ranges: LiveRanges) -> list[Placement]:
    """Return the temporaries in main memory that have a live range."""
    rows = place_buffers(assignment, live_ranges)
    return [row for row in rows if row.color == MAIN and row.kind == "temporary" and row.start is not None]


def live_bytes(placements: Iterable[Placement], end: int) -> list[int]:
    """Bytes that hold a live value, at each position from 0 to `end`.

    Values that share memory count once: the carry of a loop in each of its bodies, an update made in place, an argument
    that the result reuses, and what an instruction reads where its result overwrites it. So the bytes are never more
    than those of the allocations. Values without a live range are not counted.
    """
    changes: dict[int, list[Placement]] = {}
    # Of each allocation what lives: where it begins and ends in it, and when it ends, in the order of the places.
    living: dict[int, list[tuple[int, int, int]]] = {}
    for row in placements:
        if row.start is not None and row.end is not None:
            changes.setdefault(row.start, []).append(row)
            changes.setdefault(row.end + 1, []).append(row)
            living[row.allocation] = []
    contents, sums = dict.fromkeys(living, 0), []
    for position in range(end + 1):
        for allocation in {row.allocation for row in changes.get(position, ())}:
            left = [place for place in living[allocation] if place[2] >= position]
            for row in changes[position]:
                if row.allocation == allocation and row.start == position:
                    insort(left, (row.offset, row.offset + row.size, row.end or 0))
            living[allocation] = left
            contents[allocation] = cover(left)
        sums.append(sum(contents.values()))
    return sums


def cover(places: Iterable[tuple[int, int, int]]) -> int:
    """Return the bytes that lie in at least one of some places, which come in their order."""
    covered = end = 0
    for start, stop, _ in places:
        if stop > end:
            covered += stop - (start if start > end else end)  # noqa: FURB136 - max() takes half of the time of it all
            end = stop
    return covered


def find_peak(placements: Iterable[Placement]) -> tuple[int, int]:
    """The first position where most bytes hold a live value, and how many, as `live_bytes` counts them.

    The compiler's own figures are of other things. `peak_memory_in_bytes` of an executable counts an argument and a
    result for the whole run, whether its value lives or not, and the gaps between temporaries: on a GPU it is never
    less than this, but for constants and the pointers of tuples, which it leaves out. On the CPU it leaves out the
    temporaries, on a TPU it counts part of the memory on the chip, and may be more or less. `LiveRanges.peak` adds up
    values at a position that need not be where most live, counts those that share memory each, and leaves out the
    padding of tiles on a TPU, which is in these sizes.
    """
    rows = list(placements)
    live = live_bytes(rows, max((row.end or 0 for row in rows), default=0))
    most = max(live)
    return live.index(most), most


_N = "([0-9]{1,19})"
_INDEX = r"\{((?:[0-9]{1,9}(?:, ?[0-9]{1,9})*+)?+)\}"
_ALLOCATION = re.compile(
    rf"allocation {_N}: size {_N}(?:, color {_N})?(?:, page {_N})?"
    rf"(?:, parameter {_N}, shape \|([^|]*+)\| at ShapeIndex {_INDEX})?(, output shape is \|([^|]*+)\|)?"
    r"(, constant)?(, thread-local)?(, maybe-live-out)?(, preallocated-temp)?:",
    re.ASCII,
)
_VALUE = re.compile(
    rf" value: <{_N} ({NAME})(?:{_INDEX})?( \(phi\))? @{_N}> \(size={_N},offset={_N}\): (.*+)", re.ASCII
)
_TITLE = re.compile(rf"HloLiveRange \(max {_N}\):", re.ASCII)
_STEP = re.compile(rf"    {_N}:({NAME})", re.ASCII)
_RANGE = re.compile(rf"    ({NAME}){_INDEX}:{_N}-{_N}", re.ASCII)
_PEAK = re.compile(rf"  Live ranges at {_N} \(peak\):", re.ASCII)
# Before 2025 without the index and the sum.
_LIVE = re.compile(rf"    ({NAME})(?:{_INDEX})?+: {_N} bytes(?: \(cumulative: {_N} bytes\))?+", re.ASCII)
_BREAKDOWN = re.compile(r"  Stack trace breakdown for peak usage: [0-9 ]{1,40} bytes", re.ASCII)
_SHARE = re.compile(r"    .*\([0-9.]{1,9}%, total: [0-9 ]{1,40} bytes, current: .* bytes, remaining: .* bytes\)")


def parse_buffers(text: str) -> BufferAssignment:
    """Read `buffer-assignment.txt`, as every target writes it.

    Raises:
        HloSyntaxError: A line is none of the kinds that this reader knows; with line and column.
    """
    # Releases before 2026 repeat below the allocations which values they hold, and who uses those.
    lines = _Lines(text.partition("\n\nTotal bytes used: ")[0])
    lines.expect("BufferAssignment:")
    allocations: list[Allocation] = []
    while (match := lines.take(_ALLOCATION)) is not None:
        line = lines.position
        values = []
        while (entry := lines.take(_VALUE)) is not None:
            number, name, index, phi, color, size, offset, shape = entry.groups()
            values.append(
                Value(
                    int(number),
                    name,
                    _numbers(index),
                    phi is not None,
                    int(color),
                    int(size),
                    int(offset),
                    lines.shape(shape, entry.start(8)),
                )
            )
        number, size, color, page, parameter, shape, index, output, whole, *flags = match.groups()
        start = match.start(6) if shape is not None else match.start(9)
        described = shape if shape is not None else whole
        is_constant, is_thread_local, is_live_out, is_temporary = (flag is not None for flag in flags)
        if int(number) != len(allocations):
            lines.fail(f"expected allocation {len(allocations)}, found {number}", line)
        allocations.append(
            Allocation(
                int(number),
                int(size),
                int(color or 0),
                int(page or 0),
                None if parameter is None else int(parameter),
                _numbers(index),
                None if described is None else lines.shape(described, start, line),
                output is not None,
                is_live_out,
                is_constant,
                is_thread_local,
                is_temporary,
                tuple(values),
            )
        )
    lines.expect_end("an allocation or a value")
    return BufferAssignment(tuple(allocations))


def parse_live_ranges(text: str) -> LiveRanges:
    """Read `live-range.txt`, as every target writes it.

    Raises:
        HloSyntaxError: A line is none of the kinds that this reader knows, or sums do not add up.
    """
    lines = _Lines(text)
    title = lines.need(_TITLE, "HloLiveRange (max N):")
    lines.expect("  InstructionSequence:")
    sequence: list[str] = []
    while (match := lines.take(_STEP)) is not None:
        if int(match.group(1)) != len(sequence):
            lines.fail(f"expected position {len(sequence)}, found {match.group(1)}", lines.position)
        sequence.append(match.group(2))
    lines.expect("  BufferLiveRange:")
    ranges = []
    while (match := lines.take(_RANGE)) is not None:
        name, index, start, end = match.groups()
        ranges.append(LiveRange(name, _numbers(index), int(start), int(end)))
    peak = lines.need(_PEAK, "Live ranges at N (peak):")
    values: list[tuple[str, tuple[int, ...], int]] = []
    total = 0
    while (match := lines.take(_LIVE)) is not None:
        name, index, size, cumulative = match.groups()
        total += int(size)
        if cumulative and total != int(cumulative):
            lines.fail(f"sizes add up to {total}, the text says {cumulative}", lines.position)
        values.append((name, _numbers(index or ""), int(size)))
    breakdown = []
    if lines.take(_BREAKDOWN) is not None:
        while (match := lines.take(_SHARE)) is not None:
            breakdown.append(match.group())
    lines.expect_end("a live range")
    return LiveRanges(
        int(title.group(1)), tuple(sequence), tuple(ranges), int(peak.group(1)), tuple(values), "\n".join(breakdown)
    )


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",")) if text else ()


class _Lines:
    """A text line by line: take the next line when it has a form, or say where it has none."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self.position = 0

    def take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        """Take the next line when it has this form."""
        match = form.fullmatch(self._lines[self.position]) if self.position < len(self._lines) else None
        if match is not None:
            self.position += 1
        return match

    def need(self, form: re.Pattern[str], example: str) -> re.Match[str]:
        """Take the next line, which must have this form."""
        match = self.take(form)
        return self.fail(f"expected {example!r}") if match is None else match

    def expect(self, line: str) -> None:
        """Take the next line, which must be this one."""
        self.need(re.compile(re.escape(line)), line)

    def expect_end(self, expected: str) -> None:
        """Nothing but empty lines may follow."""
        while self.position < len(self._lines):
            if self._lines[self.position].strip():
                self.fail(f"expected {expected}")
            self.position += 1

    def shape(self, text: str, offset: int, line: int | None = None) -> Shape:
        """The shape that starts at this offset of the line taken last, or of another one."""
        try:
            return read_shape(text)
        except ShapeProblemError as problem:
            raise HloSyntaxError(problem.message, line or self.position, offset + problem.offset + 1) from None

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise at the next line, or at another one."""
        number = line or min(self.position + 1, len(self._lines))
        text = self._lines[number - 1]
        raise HloSyntaxError(f"{message}, found {text[:60]!r}" if line is None else message, number, 1)
