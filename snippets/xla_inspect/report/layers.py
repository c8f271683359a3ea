"""Where the boxes of a layered graph go: rows from top to bottom, in a width that a phone has."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PASSED = 20_000
"""How many rows the edges of a graph pass at most, all together."""

SWEEPS, VISITS = 12, 100_000
"""How often the rows of a graph are ordered anew at most, and of how many nodes in all: a large graph gets fewer."""


@dataclass(frozen=True)
class Layers:
    """A graph in rows, with each edge cut into steps from one row to the next.

    Attributes:
        rows: The nodes of each row from left to right. Numbers from `count` on are points that an edge passes.
        count: How many nodes are boxes.
        steps: Pairs of nodes in neighbouring rows, the upper one first, each once.
        left_out: How many edges have no steps: those of a large graph that pass the most rows.
    """

    rows: tuple[tuple[int, ...], ...]
    count: int
    steps: tuple[tuple[int, int], ...]
    left_out: int = 0


def arrange(count: int, edges: Sequence[tuple[int, int]], limit: int) -> Layers:
    """Order a graph in rows with few crossings (the method of Sugiyama, Tagawa and Toda).

    Args:
        count: How many nodes there are; edges go from smaller to larger numbers.
        edges: Pairs of nodes.
        limit: How many nodes one row may hold.
    """
    layer = _layer(count, edges, limit)
    kept = _keep_short(edges, layer)
    steps, layer = _cut(kept, layer)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, row in enumerate(layer):
        rows[row].append(node)
    return Layers(tuple(map(tuple, _order(rows, steps))), count, tuple(steps), len(edges) - len(kept))


def _keep_short(edges: Sequence[tuple[int, int]], layer: Sequence[int]) -> Sequence[tuple[int, int]]:
    """Return the edges without the longest, where all together pass more rows than a picture can show."""
    spans = [layer[user] - layer[source] - 1 for source, user in edges]
    if sum(spans) <= PASSED:
        return edges
    kept, passed = set[int](), 0
    for number in sorted(range(len(edges)), key=spans.__getitem__):
        passed += spans[number]
        if passed > PASSED:
            break
        kept.add(number)
    return [edge for number, edge in enumerate(edges) if number in kept]


def _order(rows: list[list[int]], steps: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order each row by the mean place of its neighbours above, then below, and so on; the best order is taken."""
    above, below = _neighbours(sum(map(len, rows)), steps)
    best, fewest = [list(row) for row in rows], _count_crossings(rows, below)
    for sweep in range(_count_sweeps(sum(map(len, rows)))):
        if not fewest:
            break
        down = sweep % 2 == 0
        near = above if down else below
        for at in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = {node: place for place, node in enumerate(rows[at - 1 if down else at + 1])}
            means = {}
            for place, node in enumerate(rows[at]):
                means[node] = sum(fixed[other] for other in near[node]) / len(near[node]) if near[node] else place
            rows[at].sort(key=means.__getitem__)
        crossings = _count_crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _count_sweeps(nodes: int) -> int:
    return max(2, min(SWEEPS, VISITS // max(nodes, 1)))


def _neighbours(count: int, steps: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """The nodes above each node and below it that it has a step from or to."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in steps:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _count_crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """How many pairs of steps cross: between two rows, the inversions among their lower ends."""
    crossings = 0
    for upper, lower in pairwise(rows):
        place = {node: number for number, node in enumerate(lower)}
        ends: list[int] = []
        for node in upper:
            for end in sorted(place[other] for other in below[node]):
                crossings += len(ends) - bisect_right(ends, end)
                insort(ends, end)
    return crossings


def _layer(count: int, edges: Sequence[tuple[int, int]], limit: int) -> list[int]:
    """A row for each node: below what it takes, and what takes nothing close above its first user."""
    takes: list[list[int]] = [[] for _ in range(count)]
    users: list[list[int]] = [[] for _ in range(count)]
    for source, user in edges:
        takes[user].append(source)
        users[source].append(user)
    layer = [0] * count
    held: dict[int, int] = {}
    room = _Room(limit, 1, held)
    for node in range(count):
        if takes[node] or not users[node]:
            layer[node] = room.take(max((layer[source] + 1 for source in takes[node]), default=0))
    # A full row sends it further up, above the first row if need be.
    room = _Room(limit, -1, held)
    for node in reversed(range(count)):
        if users[node] and not takes[node]:
            layer[node] = room.take(min(layer[user] for user in users[node]) - 1)
    used = {row: number for number, row in enumerate(sorted(set(layer)))}
    return [used[row] for row in layer]


@dataclass
class _Room:
    """How many nodes each row holds, and which row is the next that has room, downwards or upwards."""

    limit: int
    step: int
    held: dict[int, int]
    onwards: dict[int, int] = field(default_factory=dict)

    def take(self, row: int) -> int:
        """Return the first row from a row on that has room, with one place of it taken."""
        passed = []
        while self.held.get(row, 0) >= self.limit:
            passed.append(row)
            row = self.onwards.get(row, row + self.step)
        # Full rows stay full: the next search goes past them at once.
        self.onwards.update(dict.fromkeys(passed, row))
        self.held[row] = self.held.get(row, 0) + 1
        return row


def _cut(edges: Sequence[tuple[int, int]], layer: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Cut edges at each row they pass; those of one source share their points."""
    layer = list(layer)
    points: dict[tuple[int, int], int] = {}
    steps: dict[tuple[int, int], None] = {}
    for source, user in edges:
        last = source
        for row in range(layer[source] + 1, layer[user]):
            if (source, row) not in points:
                points[source, row] = len(layer)
                layer.append(row)
            steps[last, points[source, row]] = None
            last = points[source, row]
        steps[last, user] = None
    return list(steps), layer


def place_nodes(layers: Layers, widths: Sequence[float], width: float) -> list[float]:
    """The middle of each node across: near the nodes it is connected to, without overlaps, between 0 and `width`.

    Args:
        layers: The rows.
        widths: The width of each node with the room around it, points included.
        width: The room there is.
    """
    near: list[list[int]] = [[] for _ in widths]
    for upper, lower in layers.steps:
        near[upper].append(lower)
        near[lower].append(upper)
    middle = [width / 2] * len(widths)
    for sweep in range(_count_sweeps(len(widths))):
        for row in layers.rows if sweep % 2 == 0 else layers.rows[::-1]:
            preferred = [
                sum(middle[other] for other in near[node]) / len(near[node]) if near[node] else middle[node]
                for node in row
            ]
            for node, x in zip(row, _spread(preferred, [widths[node] for node in row], width), strict=True):
                middle[node] = x
    return [round(x, 1) for x in middle]


def _spread(preferred: list[float], widths: list[float], width: float) -> list[float]:
    """The places nearest to the wanted ones that keep order, gaps and bounds (isotonic regression by pooling)."""
    offsets = [0.0]
    for left, right in pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2)
    pools: list[tuple[float, int]] = []
    for target, offset in zip(preferred, offsets, strict=True):
        mean, size = target - offset, 1
        while pools and pools[-1][0] > mean:
            other, more = pools.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        pools.append((mean, size))
    lowest, highest = widths[0] / 2, width - widths[-1] / 2 - offsets[-1]
    shifts = [min(max(mean, lowest), max(highest, lowest)) for mean, size in pools for _ in range(size)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]
