"""A parser for XLA's memory plan and its reports, and the live bytes at each position."""

from __future__ import annotations

import re
from bisect import insort
from typing import TYPE_CHECKING, NoReturn

from xla_inspect.analysis.allocation import Allocation, BufferAssignment, LiveRange, LiveRanges, Placement, Value
from xla_inspect.analysis.traffic import MAIN
from xla_inspect.errors import HloSyntaxError, InspectError
from xla_inspect.hlo import NAME, ShapeProblemError, read_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.hlo import Shape


def place_buffers(assignment: BufferAssignment, live_ranges: LiveRanges) -> tuple[Placement, ...]:
    """Return the place and the live range of each value, in the order of the allocations.

    Values of computations that run inside a kernel have no live range.
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
    """Return the number of bytes that contain a live value, for each position from 0 to `end` (included).

    Values that share memory count once: the carry of a loop in each of its bodies, an in-place update, an argument that
    the result reuses, and an operand that the result overwrites. The bytes therefore never exceed those of the
    allocations. Values without a live range do not count.
    """
    changes: dict[int, list[Placement]] = {}
    # For each allocation: the start and end offsets of its live values and the position at which each one ends, sorted
    # by offset.
    living: dict[int, list[tuple[int, int, int]]] = {}
    for row in placements:
        if row.start is not None and row.end is not None:
            changes.setdefault(row.start, []).append(row)
            # A live range includes its end, so the value is dead from the next position on.
            changes.setdefault(row.end + 1, []).append(row)
            living[row.allocation] = []
    contents, sums = dict.fromkeys(living, 0), []
    for position in range(end + 1):
        # Only allocations whose live values change at this position need to be covered again.
        for allocation in {row.allocation for row in changes.get(position, ())}:
            remaining = [place for place in living[allocation] if place[2] >= position]
            for row in changes[position]:
                if row.allocation == allocation and row.start == position:
                    insort(remaining, (row.offset, row.offset + row.size, row.end or 0))
            living[allocation] = remaining
            contents[allocation] = cover(remaining)
        sums.append(sum(contents.values()))
    return sums


def cover(places: Iterable[tuple[int, int, int]]) -> int:
    """Return the number of bytes in the union of ranges (start, end, ignored) that are sorted by start."""
    covered = end = 0
    for start, stop, _ in places:
        if stop > end:
            covered += stop - (start if start > end else end)  # noqa: FURB136 - max() would take half of the total time
            end = stop
    return covered


def find_peak(placements: Iterable[Placement]) -> tuple[int, int]:
    """Return the first position with the most live bytes, and those bytes, as `live_bytes` counts them.

    The compiler's own figures measure other things. `peak_memory_in_bytes` of an executable counts arguments and
    results for the whole run even if they are dead, and includes the gaps between temporaries. On a GPU it is never
    less than the result of this function, except for constants and tuple pointers, which it does not count. On a CPU it
    does not count temporaries. On a TPU it counts a part of the on-chip memory, so it may be more or less.
    `LiveRanges.peak` adds up values at a position that need not be the peak, counts values that share memory
    separately, and does not count tile padding on a TPU, which these sizes include.
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
# Releases before 2025 print neither the index nor the cumulative sum.
_LIVE = re.compile(rf"    ({NAME})(?:{_INDEX})?+: {_N} bytes(?: \(cumulative: {_N} bytes\))?+", re.ASCII)
_BREAKDOWN = re.compile(r"  Stack trace breakdown for peak usage: [0-9 ]{1,40} bytes", re.ASCII)
# The report lists the values of each allocation by their place, with their number and shapes.
_MAIN = re.compile(
    r"^Memory Space: .*\(color=0\)\nTotal bytes: ([0-9]{1,19})\b.*\n((?:(?!Memory Space: ).*\n)*)", re.MULTILINE
)
_ROW = re.compile(r"^ *\S+\( *\d+%\); *([\d.]{1,20})([KMGTP]?)i?B; *\d+; *\d+; (.*)$", re.MULTILINE)
_SHARE = re.compile(r"    .*\([0-9.]{1,9}%, total: [0-9 ]{1,40} bytes, current: .* bytes, remaining: .* bytes\)")


def parse_buffers(text: str) -> BufferAssignment:
    """Parse `buffer-assignment.txt`, as every target writes it.

    Raises:
        HloSyntaxError: A line has an unknown form; the error has its line and column.
    """
    # Releases before 2026 repeat the values and their users below the allocations.
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
        # A line has the shape of a parameter or of the output, in different groups of the pattern.
        start = match.start(6) if shape is not None else match.start(9)
        described = shape if shape is not None else whole
        is_constant, is_thread_local, is_live_out, is_temporary = (flag is not None for flag in flags)
        # The allocations are numbered in order, so a gap means that a line was lost.
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
    """Parse `live-range.txt`, as every target writes it.

    Raises:
        HloSyntaxError: A line has an unknown form, or a cumulative sum is wrong.
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
        # A wrong sum means that a line was lost.
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


def parse_report(text: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Parse `memory-usage-report.txt`, and return the total bytes in main memory, and its values by place.

    The values at one place have their largest size, rounded, and their shapes.

    Raises:
        InspectError: The text has no main memory.
    """
    main = _MAIN.search(text)
    if main is None:
        message = "it has no total of the main memory; it may be cut off"
        raise InspectError(message)
    rows = _ROW.findall(main[2])
    return int(main[1]), tuple(
        (round(float(size) * 1024 ** " KMGTP".index(unit or " ")), of) for size, unit, of in rows
    )


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",")) if text else ()


class _Lines:
    """A line-by-line reader, which takes a line of an expected form or raises an error with its position."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self.position = 0

    def take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        """Take and return the next line if it has this form, otherwise return None."""
        match = form.fullmatch(self._lines[self.position]) if self.position < len(self._lines) else None
        if match is not None:
            self.position += 1
        return match

    def need(self, form: re.Pattern[str], example: str) -> re.Match[str]:
        """Take and return the next line, or raise `HloSyntaxError` if it does not have this form."""
        match = self.take(form)
        return self.fail(f"expected {example!r}") if match is None else match

    def expect(self, line: str) -> None:
        """Take the next line, or raise `HloSyntaxError` if it does not equal this one."""
        self.need(re.compile(re.escape(line)), line)

    def expect_end(self, expected: str) -> None:
        """Take the remaining lines, or raise `HloSyntaxError` if one is not empty."""
        while self.position < len(self._lines):
            if self._lines[self.position].strip():
                self.fail(f"expected {expected}")
            self.position += 1

    def shape(self, text: str, offset: int, line: int | None = None) -> Shape:
        """Parse `text` as a shape; an error gives its place: `offset` in the last line taken, or in line `line`."""
        try:
            return read_shape(text)
        except ShapeProblemError as problem:
            raise HloSyntaxError(problem.message, line or self.position, offset + problem.offset + 1) from None

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise `HloSyntaxError` for the next line, or for the line of a given number."""
        number = line or min(self.position + 1, len(self._lines))
        text = self._lines[number - 1]
        raise HloSyntaxError(f"{message}, found {text[:60]!r}" if line is None else message, number, 1)
