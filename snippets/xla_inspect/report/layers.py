"""Where the boxes of a layered graph go: rows from top to bottom, in a width that a phone has."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Sequence

SWEEPS = 12


@dataclass(frozen=True)
class Layers:
    """A graph in rows, with each edge cut into steps from one row to the next.

    Attributes:
        rows: The nodes of each row from left to right. Numbers from `count` on are points that an edge passes.
        count: How many nodes are boxes.
        steps: Pairs of nodes in neighbouring rows, the upper one first, each once.
    """

    rows: tuple[tuple[int, ...], ...]
    count: int
    steps: tuple[tuple[int, int], ...]


def arrange(count: int, edges: Sequence[tuple[int, int]], limit: int) -> Layers:
    """Order a graph in rows with few crossings (the method of Sugiyama, Tagawa and Toda, by igraph).

    Args:
        count: How many nodes there are; edges go from smaller to larger numbers.
        edges: Pairs of nodes.
        limit: How many nodes one row may hold.

    Raises:
        InspectError: igraph is not installed.
    """
    try:
        import igraph
    except ImportError as error:
        message = "drawing a graph needs igraph, which is not installed: install it with `pip install igraph==1.0.0`"
        raise InspectError(message) from error
    layer = _layer(count, edges, limit)
    steps, layer = _cut(edges, layer)
    graph = igraph.Graph(n=len(layer), edges=steps, directed=True)
    across = [x for x, *_ in graph.layout_sugiyama(layers=layer, maxiter=200).coords[: len(layer)]]
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in sorted(range(len(layer)), key=lambda node: (round(across[node], 3), node)):
        rows[layer[node]].append(node)
    return Layers(tuple(map(tuple, rows)), count, tuple(steps))


def _layer(count: int, edges: Sequence[tuple[int, int]], limit: int) -> list[int]:
    """A row for each node: below what it takes, and what takes nothing close above its first user."""
    takes: list[list[int]] = [[] for _ in range(count)]
    users: list[list[int]] = [[] for _ in range(count)]
    for source, user in edges:
        takes[user].append(source)
        users[source].append(user)
    layer = [0] * count
    room: dict[int, int] = {}
    for node in range(count):
        if takes[node] or not users[node]:
            layer[node] = _free(max((layer[source] + 1 for source in takes[node]), default=0), room, limit)
    for node in reversed(range(count)):
        if users[node] and not takes[node]:
            # A full row sends it further up, above the first row if need be.
            wanted = min(layer[user] for user in users[node]) - 1
            while room.get(wanted, 0) >= limit:
                wanted -= 1
            layer[node] = wanted
            room[wanted] = room.get(wanted, 0) + 1
    used = sorted(set(layer))
    return [used.index(row) for row in layer]


def _free(row: int, room: dict[int, int], limit: int) -> int:
    while room.get(row, 0) >= limit:
        row += 1
    room[row] = room.get(row, 0) + 1
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


def place(layers: Layers, widths: Sequence[float], width: float) -> list[float]:
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
    for sweep in range(SWEEPS):
        for row in layers.rows if sweep % 2 == 0 else layers.rows[::-1]:
            wanted = [
                sum(middle[other] for other in near[node]) / len(near[node]) if near[node] else middle[node]
                for node in row
            ]
            for node, x in zip(row, _spread(wanted, [widths[node] for node in row], width), strict=True):
                middle[node] = x
    return [round(x, 1) for x in middle]


def _spread(wanted: list[float], widths: list[float], width: float) -> list[float]:
    """The places nearest to the wanted ones that keep order, gaps and bounds (isotonic regression by pooling)."""
    offsets = [0.0]
    for left, right in pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2)
    pools: list[tuple[float, int]] = []
    for target, offset in zip(wanted, offsets, strict=True):
        mean, size = target - offset, 1
        while pools and pools[-1][0] > mean:
            other, more = pools.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        pools.append((mean, size))
    lowest, highest = widths[0] / 2, width - widths[-1] / 2 - offsets[-1]
    shifts = [min(max(mean, lowest), max(highest, lowest)) for mean, size in pools for _ in range(size)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]
