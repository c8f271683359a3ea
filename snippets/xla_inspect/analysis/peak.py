"""The values in one device's main memory at its peak, each with its origin and its source line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.instruction_lines import SourceLine, find_lines
from xla_inspect.analysis.memory_plan import (
    cover,
    find_peak,
    parse_buffers,
    parse_live_ranges,
    parse_report,
    place_temporaries,
)
from xla_inspect.analysis.module_stage import find_stage
from xla_inspect.analysis.shard_shapes import list_parameter_shards, list_result_shards
from xla_inspect.analysis.traffic import MAIN
from xla_inspect.analysis.value_flow import Maker, ValueFlow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xla_inspect.analysis.allocation import Allocation, Placement
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module, Shape

type HeldRole = Literal["argument", "result", "constant", "saved", "temporary", "gap", "unknown"]
"""The purpose of a piece of memory: `saved` is a value of the forward pass that the backward pass reads, and `gap` is
memory that is reserved for temporaries but unused at that moment."""

_ROLES: dict[str, HeldRole] = {"parameter": "argument", "output": "result", "constant": "constant"}


@dataclass(frozen=True, slots=True)
class Held:
    """A piece of main memory at the peak.

    Attributes:
        role: The role of the value.
        size: Bytes.
        padding: The bytes among them that only pad tiles.
        shape: The shape of the value, or None if there is no single value, as in a gap.
        name: The instruction that produces the value, or JAX's name for an argument; empty if there is no single value.
        maker: The instruction that writes the value, or None if it is unknown.
        line: The line of Python that the value comes from, or None.
        donated: Whether it is an argument whose memory a result reuses.
        whole: The global shape if the module is not partitioned yet and `shape` is one device's part, otherwise None.
        is_bound: Whether `size` is only an upper bound for one device, because the sharding is unknown.
    """

    role: HeldRole
    size: int
    padding: int
    shape: Shape | None
    name: str
    maker: Maker | None
    line: SourceLine | None
    donated: bool = False
    whole: Shape | None = None
    is_bound: bool = False

    @property
    def stacked(self) -> int:
        """The number of slices that a loop stacks in the value, or 0."""
        stacks = self.maker is not None and self.maker.loop is not None
        return self.shape.dimensions[0] if stacks and self.shape and self.shape.dimensions else 0


def list_held(capture: Capture) -> tuple[Held, ...]:
    """Return the values in main memory at the peak, largest first.

    Arguments, results and constants use memory for the whole run. Temporaries are listed if they are live at the
    position with the most bytes of temporaries; without live ranges, all temporaries are one entry. A capture that
    records why it has no memory plan still gives its arguments and results, or the values in a part of the plan alone.

    Args:
        capture: The capture; a failed compilation works too if the compiler had already planned the memory.
    """
    if not (capture.is_plan or capture.after):
        return ()
    contents: Iterable[Held] = ()
    if capture.buffers and (capture.live_ranges or "live_ranges" in capture.missing):
        contents = _Peak(capture).list()
    elif capture.is_plan and capture.live_ranges:
        values = parse_live_ranges(capture.live_ranges).peak_values
        contents = (Held("unknown", size, 0, None, name, None, None) for name, _, size in values)
    elif capture.is_plan and capture.memory_report:
        contents = (
            Held("unknown", size, 0, None, of, None, None) for size, of in parse_report(capture.memory_report)[1]
        )
    elif "buffers" in capture.missing:
        contents = _hold_ends(capture.module, is_global=find_stage(capture).shapes == "global")
    return tuple(sorted(contents, key=lambda value: -value.size))


def _hold_ends(module: Module, *, is_global: bool) -> Iterator[Held]:
    """Yield the arguments and results of a module without a memory plan, in the sizes of one device."""
    # A result that reuses the memory of an argument must not count a second time.
    donated = {*module.aliases.values()}
    shards = list_parameter_shards(module) if is_global else None
    for number, parameter in enumerate(module.entry.parameters):
        for at, shape in enumerate(parameter.shape.leaves()):
            name = parameter.op_name or parameter.name
            contents = _hold_end("argument", shape, name, shards[number][at] if shards else shape)
            yield replace(contents, donated=number in donated)
    root = module.entry.root
    results = list_result_shards(module) if is_global else root.shape.leaves()
    for (index, shape), shard in zip(_list_leaves(root.shape), results, strict=True):
        if index not in module.aliases:
            yield _hold_end("result", shape, root.name, shard)


def _hold_end(role: HeldRole, whole: Shape, name: str, shard: Shape | None) -> Held:
    """Return an argument or a result with the size of its shard, or of the whole array if the shard is unknown."""
    shape = shard or whole
    size = shape.padded_bytes
    # A whole shape says nothing new if the shard has the same dimensions.
    cut = whole if shape.dimensions != whole.dimensions else None
    return Held(role, size, _pad(shape, size), shape, name, None, None, whole=cut, is_bound=shard is None)


def _list_leaves(shape: Shape, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Shape]]:
    """Yield the arrays of a shape, each with its tuple index."""
    if not shape.is_tuple:
        yield index, shape
    for number, element in enumerate(shape.elements):
        yield from _list_leaves(element, (*index, number))


class _Peak:
    """The memory plan of one capture, with the producers and lines of its values."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.assignment = parse_buffers(capture.buffers)
        self.flow = None if capture.is_plan else ValueFlow(capture.module)
        self.lines = {} if capture.is_plan else find_lines(capture, capture.module)
        self.shapes = {(value.instruction, value.index): value.shape for _, value in self.assignment.values()}
        self.main = [allocation for allocation in self.assignment.allocations if allocation.color == MAIN]

    def list(self) -> Iterator[Held]:
        for allocation in self.main:
            if allocation.kind in _ROLES and allocation.size:
                yield self._hold_whole(allocation)
        yield from self._hold_temporaries()

    def _hold_whole(self, allocation: Allocation) -> Held:
        role, size = _ROLES[allocation.kind], allocation.size
        is_donated = allocation.parameter is not None and allocation.is_live_out
        if allocation.parameter is not None and not self.capture.is_plan:
            # Each array of a tuple argument has an allocation of its own, whose shape is in the plan.
            parameter = self.capture.module.entry.parameters[allocation.parameter]
            shape = allocation.shape if allocation.parameter_index else parameter.shape
            name = parameter.op_name or parameter.name
            return Held(role, size, _pad(shape, size), shape, name, None, None, donated=is_donated)
        largest = max(allocation.values, key=lambda value: value.size, default=None)
        if largest is None:
            return Held(role, size, 0, None, "", None, None)
        # The compiler adds the pointers of a tuple itself, so they have no line of Python.
        maker = self._find_maker(largest.shape, largest.instruction, largest.index)
        line = self.lines.get(maker.instruction) if maker else None
        return Held(role, size, _pad(largest.shape, size), largest.shape, largest.instruction, maker, line, is_donated)

    def _find_maker(self, shape: Shape, instruction: str, index: tuple[int, ...]) -> Maker | None:
        return None if shape.is_tuple or self.flow is None else self.flow.find_maker(instruction, index)

    def _hold_temporaries(self) -> Iterator[Held]:
        """Yield the live temporaries at the peak, and the unused memory between them."""
        total = sum(allocation.size for allocation in self.main if allocation.kind == "temporary")
        # Without live ranges, it is unknown which temporaries share memory or are live at the same time.
        if not self.capture.live_ranges:
            yield from [Held("temporary", total, 0, None, "", None, None)] if total else []
            return
        rows = place_temporaries(self.assignment, parse_live_ranges(self.capture.live_ranges))
        gap = total
        if rows:
            position, _ = find_peak(rows)
            living = [row for row in rows if (row.start or 0) <= position <= (row.end or 0)]
            for size, sharing in _share_out(living):
                gap -= size
                yield self._describe(sharing, size)
        if gap:
            yield Held("gap", gap, 0, None, "", None, None)

    def _describe(self, sharing: Sequence[Placement], size: int) -> Held:
        """Return one entry for several values that share memory, described by the value with the most information."""
        shapes = [self.shapes[row.instruction, row.index] for row in sharing]
        makers = [
            (row, self._find_maker(shape, row.instruction, row.index))
            for row, shape in zip(sharing, shapes, strict=True)
        ]

        def tell(pair: tuple[Placement, Maker | None]) -> tuple[bool, bool]:
            maker = pair[1]
            # A loop explains the most about a value, and a line of Python comes second.
            return maker is not None and maker.loop is not None, maker is not None and maker.instruction in self.lines

        row, maker = max(makers, key=tell)
        line = self.lines.get(maker.instruction) if maker else None
        shape = self.shapes[row.instruction, row.index]
        is_forward = maker is not None and not is_backward(maker.instruction.op_name or "")
        flow = self.flow if is_forward else None
        saved = flow is not None and any(flow.feeds_backward(value.instruction, value.index) for value in sharing)
        return Held("saved" if saved else "temporary", size, _pad(shape, size), shape, row.instruction, maker, line)


def _share_out(rows: Iterable[Placement]) -> Iterator[tuple[int, Sequence[Placement]]]:
    """Yield, for each used range of an allocation, the bytes that no larger range covers, and the values in it."""
    by_allocation: dict[int, list[Placement]] = defaultdict(list)
    for row in rows:
        by_allocation[row.allocation].append(row)
    for living in by_allocation.values():
        by_place: dict[tuple[int, int], list[Placement]] = defaultdict(list)
        for row in living:
            by_place[row.offset, row.size].append(row)
        # Larger values come first, so that a smaller value inside their range counts only its remaining bytes.
        ranges: list[tuple[int, int]] = []
        for (offset, size), sharing in sorted(by_place.items(), key=lambda entry: -entry[0][1]):
            end = offset + size
            others = [
                (max(start, offset), min(stop, end), 0) for start, stop in ranges if start < end and stop > offset
            ]
            # Bytes that a larger value already covers were counted with that value.
            free = size - cover(sorted(others))
            if free > 0:
                ranges.append((offset, end))
                yield free, sharing


def is_backward(op_name: str) -> bool:
    """Return whether differentiation added an operation or recomputes it, judging by its `op_name`."""
    return "transpose(" in op_name or "rematted_computation" in op_name


def _pad(shape: Shape | None, size: int) -> int:
    return max(size - shape.bytes, 0) if shape is not None else 0
