"""The layout of a layered graph: rows of boxes from top to bottom, in a width that fits on a phone."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PASSED = 20_000
"""The largest number of rows that all edges of a graph may pass in total."""

SWEEPS, VISITS = 12, 100_000
"""Limits on the effort of reordering: the sweeps over a graph, and the nodes visited in all sweeps together."""


@dataclass(frozen=True)
class Layers:
    """A graph in rows, with each edge cut into steps from one row to the next.

    Attributes:
        rows: The nodes of each row from left to right. Nodes numbered `count` and above are points of long edges.
        count: The number of boxes.
        steps: Pairs of nodes in neighboring rows, the upper node first, each pair once.
        left_out: The number of edges without steps: in a large graph, those that pass the most rows.
    """

    rows: tuple[tuple[int, ...], ...]
    count: int
    steps: tuple[tuple[int, int], ...]
    left_out: int = 0


def arrange(count: int, edges: Sequence[tuple[int, int]], limit: int) -> Layers:
    """Arrange a graph in rows with few crossings (the method of Sugiyama, Tagawa and Toda).

    Args:
        count: The number of nodes; edges go from smaller to larger numbers.
        edges: Pairs of nodes.
        limit: The largest number of these nodes in one row, which may also have points of long edges.
    """
    layer = _layer(count, edges, limit)
    short_edges = _keep_short(edges, layer)
    steps, layer = _cut(short_edges, layer)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, row in enumerate(layer):
        rows[row].append(node)
    return Layers(tuple(map(tuple, _order(rows, steps))), count, tuple(steps), len(edges) - len(short_edges))


def _keep_short(edges: Sequence[tuple[int, int]], layer: Sequence[int]) -> Sequence[tuple[int, int]]:
    """Return the edges, without the longest ones if all edges together pass more than `PASSED` rows."""
    spans = [layer[user] - layer[source] - 1 for source, user in edges]
    if sum(spans) <= PASSED:
        return edges
    numbers, passed = set[int](), 0
    # The shortest edges come first, because they show more connections for the same number of rows.
    for number in sorted(range(len(edges)), key=spans.__getitem__):
        passed += spans[number]
        if passed > PASSED:
            break
        numbers.add(number)
    return [edge for number, edge in enumerate(edges) if number in numbers]


def _order(rows: list[list[int]], steps: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the rows with the fewest crossings of all sweeps, which sort nodes in place by their neighbors' places."""
    above, below = _neighbours(sum(map(len, rows)), steps)
    # A sweep may also increase the crossings, so the best order so far is stored as a copy.
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
    """Return, for each node, its neighbors in the row above and its neighbors in the row below."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in steps:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _count_crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """Return the number of pairs of steps that cross: between two rows, the inversions among their lower ends."""
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
    """Return the row of each node: below its operands, or for a node without operands just above its first user."""
    operands: list[list[int]] = [[] for _ in range(count)]
    users: list[list[int]] = [[] for _ in range(count)]
    for source, user in edges:
        operands[user].append(source)
        users[source].append(user)
    layer = [0] * count
    counts: dict[int, int] = {}
    room = _Room(limit, 1, counts)
    for node in range(count):
        if operands[node] or not users[node]:
            layer[node] = room.take(max((layer[source] + 1 for source in operands[node]), default=0))
    # A node without operands moves further up if a row is full, above the first row if necessary.
    room = _Room(limit, -1, counts)
    # Nodes without operands are placed last, because their rows depend on those of their users.
    for node in reversed(range(count)):
        if users[node] and not operands[node]:
            layer[node] = room.take(min(layer[user] for user in users[node]) - 1)
    # The rows of nodes without operands may be negative, so the rows are numbered again from zero.
    row_numbers = {row: number for number, row in enumerate(sorted(set(layer)))}
    return [row_numbers[row] for row in layer]


@dataclass
class _Room:
    """The number of nodes in each row, at most `limit`, and the next row with room, downwards or upwards."""

    limit: int
    step: int
    counts: dict[int, int]
    onwards: dict[int, int] = field(default_factory=dict)

    def take(self, row: int) -> int:
        """Reserve one place in the first row with room, starting at a row, and return that row."""
        passed = []
        while self.counts.get(row, 0) >= self.limit:
            passed.append(row)
            row = self.onwards.get(row, row + self.step)
        # Rows never empty again, so the next search can skip the full ones.
        self.onwards.update(dict.fromkeys(passed, row))
        self.counts[row] = self.counts.get(row, 0) + 1
        return row


def _cut(edges: Sequence[tuple[int, int]], layer: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return edges cut into steps at each row that they pass, and the row of each node and new point.

    Edges from one source share their points.
    """
    layer = list(layer)
    points: dict[tuple[int, int], int] = {}
    steps: dict[tuple[int, int], None] = {}
    for source, user in edges:
        last = source
        for row in range(layer[source] + 1, layer[user]):
            if (source, row) not in points:
                # Two edges from one value to lower rows share their points, so the picture has one line until they
                # separate.
                points[source, row] = len(layer)
                layer.append(row)
            steps[last, points[source, row]] = None
            last = points[source, row]
        steps[last, user] = None
    return list(steps), layer


def place_nodes(layers: Layers, widths: Sequence[float], width: float) -> list[float]:
    """Return the horizontal center of each node: near its neighbors, without overlaps, between 0 and `width`.

    Args:
        layers: The rows.
        widths: The width of each node, including the space around it; points of edges are nodes too.
        width: The width of the picture.
    """
    near: list[list[int]] = [[] for _ in widths]
    for upper, lower in layers.steps:
        near[upper].append(lower)
        near[lower].append(upper)
    middle = [width / 2] * len(widths)
    # The sweeps alternate between both directions, because each row depends on the rows above and below it.
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
    """Return the places nearest to the preferred ones within order, gaps and bounds (isotonic regression)."""
    offsets = [0.0]
    for before, after in pairwise(widths):
        offsets.append(offsets[-1] + (before + after) / 2)
    pools: list[tuple[float, int]] = []
    for target, offset in zip(preferred, offsets, strict=True):
        mean, size = target - offset, 1
        # Merge neighbors whose preferred order contradicts the row's order, until the means increase.
        while pools and pools[-1][0] > mean:
            other, more = pools.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        pools.append((mean, size))
    lowest, highest = widths[0] / 2, width - widths[-1] / 2 - offsets[-1]
    shifts = [min(max(mean, lowest), max(highest, lowest)) for mean, size in pools for _ in range(size)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]
