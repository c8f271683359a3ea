"""Data classes for the memory of a compiled program: allocations, their values, and the values' live ranges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo import Shape

ALLOCATION_KINDS = ("parameter", "output", "temporary", "constant", "thread-local")
"""The kinds of allocations, in the order in which reports list them."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value and its place in an allocation.

    Attributes:
        id: The number that the compiler gave the value.
        instruction: The name of the instruction that produces the value.
        index: The tuple index of the value in the instruction's result; `()` is the whole result.
        is_phi: Whether several values are merged here, such as the carry of a loop or the result of a branch.
        color: The memory space: 0 is the default, on a TPU 1 is VMEM, 2 holds semaphores, and 4 is SMEM.
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
    """One block of memory, which several values may use one after the other.

    Attributes:
        number: The number of the allocation, in the order of `buffer-assignment.txt`, from 0.
        size: Bytes.
        color: The memory space, as in `Value`.
        page: The page number in `buffer-assignment.txt`, which has been 0 on every target so far.
        parameter: The number of the entry parameter that it contains, or None.
        parameter_index: The tuple index of the value in that parameter; `()` if the parameter is not a tuple.
        shape: The shape of the parameter or of the output, or None if the text does not print it.
        is_output: Whether it contains the result of the entry computation.
        is_live_out: Whether it may be read after the program ends; for a parameter, whether the output reuses its
            memory.
        is_constant: Whether it contains a constant.
        is_thread_local: Whether each call inside a kernel has its own copy.
        is_preallocated_temporary: Whether it is part of the temporary memory that is reserved before the program
            starts.
        values: All values that use the allocation during the run.
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
        """One of `ALLOCATION_KINDS`; a parameter that the output reuses counts as a parameter."""
        # The order of the tests matters: a parameter whose memory the output reuses is also live out.
        if self.parameter is not None:
            return "parameter"
        if self.is_constant:
            return "constant"
        if self.is_thread_local:
            return "thread-local"
        return "output" if self.is_output or self.is_live_out else "temporary"


@dataclass(frozen=True)
class BufferAssignment:
    """All allocations of a program, in order."""

    allocations: tuple[Allocation, ...]

    def values(self) -> Iterator[tuple[Allocation, Value]]:
        """Yield every value with its allocation, in the order of `buffer-assignment.txt`."""
        for allocation in self.allocations:
            for value in allocation.values:
                yield allocation, value

    @property
    def total(self) -> int:
        """Bytes of all allocations together."""
        return sum(allocation.size for allocation in self.allocations)

    def bytes_by_kind(self) -> dict[str, int]:
        """Return the bytes of the allocations of each kind, in the order of `ALLOCATION_KINDS`."""
        return {kind: sum(a.size for a in self.allocations if a.kind == kind) for kind in ALLOCATION_KINDS}

    def bytes_by_color(self) -> dict[int, int]:
        """Return the bytes of the allocations in each memory space, by color in ascending order."""
        sizes: Counter[int] = Counter()
        for allocation in self.allocations:
            sizes[allocation.color] += allocation.size
        return dict(sorted(sizes.items()))


@dataclass(frozen=True, slots=True)
class LiveRange:
    """The live range of the value with a tuple `index` in the result of an `instruction`.

    It lasts from `start` to `end`, both included; these are positions in `LiveRanges.sequence`.
    """

    instruction: str
    index: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class LiveRanges:
    """The order of the instructions, and the live range of each value.

    Attributes:
        end: The position after the last instruction; a value that is live there is live when the program ends.
        sequence: The names of the instructions in execution order, with called computations inlined.
        ranges: The live range of each value.
        peak_position: The position at which the most bytes are live.
        peak_values: The values live at the peak, each as instruction name, tuple index and bytes, largest first.
        breakdown: The lines of `live-range.txt` that attribute the peak to Python operations; may be empty.
    """

    end: int
    sequence: tuple[str, ...]
    ranges: tuple[LiveRange, ...]
    peak_position: int
    peak_values: tuple[tuple[str, tuple[int, ...], int], ...]
    breakdown: str

    @property
    def peak(self) -> int:
        """The bytes of the values live at the peak, as `live-range.txt` has them: on a TPU, without padding."""
        return sum(size for _, _, size in self.peak_values)

    @cached_property
    def by_value(self) -> Mapping[tuple[str, tuple[int, ...]], LiveRange]:
        """The live ranges, by instruction name and tuple index."""
        return {(live.instruction, live.index): live for live in self.ranges}


@dataclass(frozen=True, slots=True)
class Placement:
    """The place and the live range of one value.

    Attributes:
        instruction: The name of the instruction that produces the value.
        index: The tuple index of the value in the instruction's result.
        allocation: The number of its allocation.
        kind: The kind of the allocation.
        color: The memory space.
        offset: Bytes from the start of the allocation.
        size: Bytes.
        start: The first position at which the value is live, or None if the text has no live range for it.
        end: The last position at which the value is live, or None.
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
