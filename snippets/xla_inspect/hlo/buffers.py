"""The memory plan: `buffer-assignment.txt` and `live-range.txt` as data, and the two joined by value."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.attributes import NAME
from xla_inspect.hlo.shape import ShapeProblemError, read_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo.shape import Shape

KINDS = ("parameter", "output", "temporary", "constant", "thread-local")


@dataclass(frozen=True, slots=True)
class Value:
    """One value and its place in an allocation.

    Attributes:
        id: The compiler's number for it.
        instruction: The name of the instruction that makes it.
        index: Which element of the instruction's result, for tuples; `()` is the result itself.
        is_phi: Whether several values meet here (the carry of a loop, the result of a branch).
        color: The memory space: 0 is the default, on a TPU 1 is VMEM and 2 is SMEM.
        size: Bytes.
        offset: Bytes from the start of the allocation.
        shape: Its shape.
    """

    id: int
    instruction: str
    index: tuple[int, ...]
    is_phi: bool
    color: int
    size: int
    offset: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Allocation:
    """One stretch of memory, which values may share one after the other.

    Attributes:
        number: Its number, the order of the text.
        size: Bytes.
        color: The memory space, as in `Value`.
        page: The page that the text names, 0 on every target so far.
        parameter: The number of the entry parameter that it holds, or None.
        parameter_index: Which element of that parameter, `()` when it is no tuple.
        shape: The shape of the parameter or of the output when the text names it.
        is_output: Whether it holds the entry's result itself.
        is_live_out: Whether it may be read after the program ends; with a parameter, that the output reuses it.
        is_constant: Whether it holds a constant.
        is_thread_local: Whether each call inside a kernel has its own.
        is_preallocated_temporary: Whether it is part of the temporary memory set aside before the program starts.
        values: What it holds over time.
    """

    number: int
    size: int
    color: int
    page: int
    parameter: int | None
    parameter_index: tuple[int, ...]
    shape: Shape | None
    is_output: bool
    is_live_out: bool
    is_constant: bool
    is_thread_local: bool
    is_preallocated_temporary: bool
    values: tuple[Value, ...]

    @property
    def kind(self) -> str:
        """One of `KINDS`; a parameter that the output reuses counts as a parameter."""
        if self.parameter is not None:
            return "parameter"
        if self.is_constant:
            return "constant"
        if self.is_thread_local:
            return "thread-local"
        return "output" if self.is_output or self.is_live_out else "temporary"


@dataclass(frozen=True)
class BufferAssignment:
    """Every allocation of a program, in order."""

    allocations: tuple[Allocation, ...]

    def values(self) -> Iterator[tuple[Allocation, Value]]:
        """Every value with its allocation, in the order of the text."""
        for allocation in self.allocations:
            for value in allocation.values:
                yield allocation, value

    @property
    def total(self) -> int:
        """Bytes of all allocations together."""
        return sum(allocation.size for allocation in self.allocations)

    def bytes_by_kind(self) -> dict[str, int]:
        """Bytes of the allocations of each kind, in the order of `KINDS`."""
        return {kind: sum(a.size for a in self.allocations if a.kind == kind) for kind in KINDS}

    def bytes_by_color(self) -> dict[int, int]:
        """Bytes of the allocations in each memory space."""
        sizes: Counter[int] = Counter()
        for allocation in self.allocations:
            sizes[allocation.color] += allocation.size
        return dict(sorted(sizes.items()))


@dataclass(frozen=True, slots=True)
class LiveRange:
    """When a value is needed: from `start` to `end`, both included, in positions of the instruction sequence."""

    instruction: str
    index: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class LiveRanges:
    """The order of the instructions and how long each value lives.

    Attributes:
        end: The position after the last instruction; what is live there is live when the program ends.
        sequence: The names of the instructions in the order in which they run, called computations inlined.
        ranges: The live range of each value.
        peak_position: The position where most bytes are live.
        peak_values: The values that live there with their bytes, largest first.
        breakdown: The lines that share the peak out among the Python operations, as written; may be empty.
    """

    end: int
    sequence: tuple[str, ...]
    ranges: tuple[LiveRange, ...]
    peak_position: int
    peak_values: tuple[tuple[str, tuple[int, ...], int], ...]
    breakdown: str

    @property
    def peak(self) -> int:
        """Bytes of the values that live at the peak."""
        return sum(size for _, _, size in self.peak_values)

    @cached_property
    def by_value(self) -> Mapping[tuple[str, tuple[int, ...]], LiveRange]:
        """The live ranges by instruction and index."""
        return {(live.instruction, live.index): live for live in self.ranges}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and when one value lives.

    Attributes:
        instruction: The name of the instruction that makes it.
        index: Which element of the instruction's result.
        allocation: The number of its allocation.
        kind: The kind of the allocation.
        color: The memory space.
        offset: Bytes from the start of the allocation.
        size: Bytes.
        start: The first position where it lives, or None when the text has no live range for it.
        end: The last position where it lives, or None.
    """

    instruction: str
    index: tuple[int, ...]
    allocation: int
    kind: str
    color: int
    offset: int
    size: int
    start: int | None
    end: int | None


def place(assignment: BufferAssignment, live_ranges: LiveRanges) -> tuple[Placement, ...]:
    """Join what lies where with when it lives, one row for each value, in the order of the allocations.

    Values of computations that run inside a kernel have no live range of their own.
    """
    rows = []
    for allocation, value in assignment.values():
        live = live_ranges.by_value.get((value.instruction, value.index))
        start, end = (live.start, live.end) if live else (None, None)
        rows.append(
            Placement(
                value.instruction, value.index, allocation.number, allocation.kind, value.color, value.offset,
                value.size, start, end,
            )  # fmt: skip
        )
    return tuple(rows)


_N = "([0-9]{1,19})"
_INDEX = r"\{((?:[0-9]{1,9}(?:, ?[0-9]{1,9})*+)?+)\}"
_ALLOCATION = re.compile(
    rf"allocation {_N}: size {_N}(?:, color {_N})?(?:, page {_N})?"
    rf"(?:, parameter {_N}, shape \|([^|]*+)\| at ShapeIndex {_INDEX})?(, output shape is \|([^|]*+)\|)?"
    r"(, constant)?(, thread-local)?(, maybe-live-out)?(, preallocated-temp)?:",
    re.ASCII,
)
_VALUE = re.compile(rf" value: <{_N} ({NAME})(?:{_INDEX})?( \(phi\))? @{_N}> \(size={_N},offset={_N}\): (.*+)", re.ASCII)
_TITLE = re.compile(rf"HloLiveRange \(max {_N}\):", re.ASCII)
_STEP = re.compile(rf"    {_N}:({NAME})", re.ASCII)
_RANGE = re.compile(rf"    ({NAME}){_INDEX}:{_N}-{_N}", re.ASCII)
_PEAK = re.compile(rf"  Live ranges at {_N} \(peak\):", re.ASCII)
_LIVE = re.compile(rf"    ({NAME}){_INDEX}: {_N} bytes \(cumulative: {_N} bytes\)", re.ASCII)
_BREAKDOWN = re.compile(r"  Stack trace breakdown for peak usage: [0-9 ]{1,40} bytes", re.ASCII)
_SHARE = re.compile(r"    .*\([0-9.]{1,9}%, total: [0-9 ]{1,40} bytes, current: .* bytes, remaining: .* bytes\)")


def parse_buffers(text: str) -> BufferAssignment:
    """Read `buffer-assignment.txt`, as every target writes it.

    Raises:
        HloSyntaxError: A line is none of the kinds that this reader knows; with line and column.
    """
    lines = _Lines(text)
    lines.expect("BufferAssignment:")
    allocations = []
    while (match := lines.take(_ALLOCATION)) is not None:
        line = lines.position
        values = []
        while (found := lines.take(_VALUE)) is not None:
            number, name, index, phi, color, size, offset, shape = found.groups()
            values.append(
                Value(
                    int(number), name, _numbers(index), phi is not None, int(color), int(size), int(offset),
                    lines.shape(shape, found.start(8)),
                )  # fmt: skip
            )
        number, size, color, page, parameter, shape, index, output, whole, *flags = match.groups()
        start = match.start(6) if shape is not None else match.start(9)
        described = shape if shape is not None else whole
        is_constant, is_thread_local, is_live_out, is_temporary = (flag is not None for flag in flags)
        if int(number) != len(allocations):
            lines.fail(f"expected allocation {len(allocations)}, found {number}", line)
        allocations.append(
            Allocation(
                int(number), int(size), int(color or 0), int(page or 0), None if parameter is None else int(parameter),
                _numbers(index), None if described is None else lines.shape(described, start, line), output is not None,
                is_live_out, is_constant, is_thread_local, is_temporary, tuple(values),
            )  # fmt: skip
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
        if total != int(cumulative):
            lines.fail(f"sizes add up to {total}, the text says {cumulative}", lines.position)
        values.append((name, _numbers(index), int(size)))
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

    def expect_end(self, wanted: str) -> None:
        """Nothing but empty lines may follow."""
        while self.position < len(self._lines):
            if self._lines[self.position].strip():
                self.fail(f"expected {wanted}")
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
        found = self._lines[number - 1]
        raise HloSyntaxError(f"{message}, found {found[:60]!r}" if line is None else message, number, 1)
