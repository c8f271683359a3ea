"""Sharing of equal buffers by values that do not live at the same time: how few will do, found and proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

type Ranges = Mapping[str, tuple[int, int]]


def most_live(ranges: Ranges) -> tuple[str, ...]:
    """The largest set of values that live at one time, at the first such time; no plan has fewer buffers than that.

    Args:
        ranges: The first and the last time at which each value is needed, both included.
    """
    times = sorted({first for first, _ in ranges.values()})
    sets = [tuple(name for name, (first, last) in ranges.items() if first <= time <= last) for time in times]
    return max(sets, key=len, default=())


def share(ranges: Ranges) -> dict[str, int]:
    """Give each value, in the order in which they begin, the first buffer whose last value is no longer needed.

    For equal sizes this uses as few buffers as there can be (colouring of an interval graph in order of the starts).
    """
    until: list[int] = []
    given: dict[str, int] = {}
    for name, (first, last) in sorted(ranges.items(), key=lambda item: (item[1], item[0])):
        free = next((number for number, end in enumerate(until) if end < first), len(until))
        until[free : free + 1] = [last]
        given[name] = free
    return given


def plans(ranges: Ranges, buffers: int) -> list[dict[str, int]]:
    """Every way to put the values into so many buffers, the buffers taken alike; none when they are too few."""
    found: list[dict[str, int]] = []
    _extend(ranges, list(ranges), {}, buffers, found)
    return found


def _extend(
    ranges: Ranges, waiting: Sequence[str], given: dict[str, int], buffers: int, found: list[dict[str, int]]
) -> None:
    if not waiting:
        found.append(dict(given))
        return
    name, *rest = waiting
    # A buffer that is not used yet is like any other that is not: one of them is tried.
    for buffer in range(min(max(given.values(), default=-1) + 2, buffers)):
        if not any(given[other] == buffer and _overlap(ranges[name], ranges[other]) for other in given):
            _extend(ranges, rest, {**given, name: buffer}, buffers, found)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
