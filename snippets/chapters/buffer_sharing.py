"""Buffer sharing between values of equal size that are not live at the same time, and the minimum number of buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

type Ranges = Mapping[str, tuple[int, int]]


def most_live(ranges: Ranges) -> tuple[str, ...]:
    """Return the largest set of values that are live at one time, a lower bound for the number of buffers.

    Args:
        ranges: The first and the last time at which each value is needed, inclusive.
    """
    # The number of live values only grows at the start of a range, so no other time has to be checked.
    times = sorted({first for first, _ in ranges.values()})
    sets = [tuple(name for name, (first, last) in ranges.items() if first <= time <= last) for time in times]
    return max(sets, key=len, default=())


def share_buffers(ranges: Ranges) -> dict[str, int]:
    """Assign each value, in the order of its start, the first buffer whose value is no longer needed, or a new one.

    For values of equal size this is optimal: it colours an interval graph in the order of the starts.
    The result has the number of each value's buffer, from 0.
    """
    until: list[int] = []
    plan: dict[str, int] = {}
    for name, (first, last) in sorted(ranges.items(), key=lambda item: (item[1], item[0])):
        # The comparison is strict, because a value is still needed at its last time.
        free = next((number for number, end in enumerate(until) if end < first), len(until))
        # If no buffer is free, the slice is the empty end of the list, and the assignment appends a buffer.
        until[free : free + 1] = [last]
        plan[name] = free
    return plan


def list_plans(ranges: Ranges, buffers: int) -> list[dict[str, int]]:
    """Return every assignment of the values to that many interchangeable buffers; empty if there are too few."""
    plans: list[dict[str, int]] = []
    _extend(ranges, list(ranges), {}, buffers, plans)
    return plans


def _extend(
    ranges: Ranges, waiting: Sequence[str], plan: dict[str, int], buffers: int, plans: list[dict[str, int]]
) -> None:
    if not waiting:
        plans.append(dict(plan))
        return
    name, *rest = waiting
    # All unused buffers are equivalent, so only one of them is tried.
    for buffer in range(min(max(plan.values(), default=-1) + 2, buffers)):
        if not any(plan[other] == buffer and _overlap(ranges[name], ranges[other]) for other in plan):
            _extend(ranges, rest, {**plan, name: buffer}, buffers, plans)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
