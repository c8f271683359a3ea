"""A layered graph has rows of limited size, few crossings and no overlap."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from xla_inspect.report.layers import PASSED, Layers, arrange, place_nodes

# Two boxes that feed two others crosswise, a diamond, a cube's corners, and a chain whose first box feeds the last too.
GRAPHS = {
    "crosswise": (4, [(0, 3), (1, 2)]),
    "diamond": (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "cube": (8, [(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7), (6, 7)]),
    "chain": (5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]),
    "alone": (3, []),
    "empty": (0, []),
}


def count_crossings(layers: Layers) -> int:
    """Count the pairs of steps that cross."""
    at = {node: (number, place) for number, row in enumerate(layers.rows) for place, node in enumerate(row)}
    steps = [(*at[upper], at[lower][1]) for upper, lower in layers.steps]
    return sum(
        row == other and (origin - right) * (to - end) < 0
        for (row, origin, to), (other, right, end) in combinations(steps, 2)
    )


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_edge_is_a_chain_of_steps_between_neighbouring_rows(name: str, limit: int) -> None:
    count, edges = GRAPHS[name]
    layers = arrange(count, edges, limit)
    row_of = {node: number for number, row in enumerate(layers.rows) for node in row}
    assert [row_of[lower] - row_of[upper] for upper, lower in layers.steps] == [1] * len(layers.steps)
    above: dict[int, list[int]] = {}
    for upper, lower in layers.steps:
        above.setdefault(lower, []).append(upper)

    def find_source(node: int) -> int:
        return node if node < count else find_source(above[node][0])

    ends = {(find_source(upper), lower) for upper, lower in layers.steps if lower < count}
    assert ends == set(edges)


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("name", GRAPHS)
def test_no_row_exceeds_its_limit_of_boxes(name: str, limit: int) -> None:
    count, edges = GRAPHS[name]
    rows = arrange(count, edges, limit).rows
    assert [row for row in rows if sum(node < count for node in row) > limit] == []
    assert sorted(node for row in rows for node in row if node < count) == list(range(count))


@pytest.mark.parametrize(("name", "crossings"), [("crosswise", 0), ("diamond", 0), ("cube", 2), ("chain", 0)])
def test_edges_cross_no_more_than_necessary(name: str, crossings: int) -> None:
    assert count_crossings(arrange(*GRAPHS[name], limit=4)) == crossings


@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_of_a_row_keep_their_order_and_do_not_overlap(name: str) -> None:
    count, edges = GRAPHS[name]
    layers = arrange(count, edges, 3)
    widths = [50.0 if node < count else 5.0 for node in range(sum(map(len, layers.rows)))]
    middle = place_nodes(layers, widths, 200)
    for row in layers.rows:
        assert middle[row[0]] - widths[row[0]] / 2 >= 0
        assert middle[row[-1]] + widths[row[-1]] / 2 <= 200
        gaps = [middle[right] - middle[first] - (widths[first] + widths[right]) / 2 for first, right in pairwise(row)]
        assert [gap for gap in gaps if gap < -0.1] == []


def test_a_large_graph_is_drawn_without_its_longest_edges() -> None:
    count = 3_000
    chain = [(node, node + 1) for node in range(count - 1)]
    far = [(node, count - 1) for node in range(0, count - 2, 7)]
    layers = arrange(count, [*chain, *far], 2)
    assert {*chain} <= {*layers.steps}
    assert 0 < layers.left_out < len(far)
    assert sum(map(len, layers.rows)) <= count + PASSED
    assert arrange(count, chain, 2).left_out == 0
