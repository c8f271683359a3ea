"""The plans of the explorer's graph have valid rows, places and paths of edges."""

from __future__ import annotations

from itertools import pairwise

import pytest

from xla_inspect.report.explorer.graph_data import WHOLE, plan_rows

# Boxes in pairs, each pair taking both of the one before, and the last what the first two make.
COUNT = 20
EDGES = sorted(
    {(2 * pair + a, 2 * pair + 2 + b) for pair in range(COUNT // 2 - 1) for a in (0, 1) for b in (0, 1)}
    | {(0, COUNT - 1), (1, COUNT - 1)}
)


def test_there_is_a_plan_for_each_number_of_boxes_per_row() -> None:
    assert [len(set(plan["row"])) for plan in plan_rows(COUNT, EDGES)] == [COUNT, COUNT // 2, COUNT // 2]
    assert [len(plans) for plans in (plan_rows(0, []), plan_rows(1, []), plan_rows(9, []))] == [1, 2, 5]


@pytest.mark.parametrize("abreast", [1, 2, 3])
def test_an_edge_passes_each_row_between_its_ends(abreast: int) -> None:
    plan = plan_rows(COUNT, EDGES)[abreast - 1]
    for box in range(COUNT):
        last = max((plan["row"][user] for source, user in EDGES if source == box), default=plan["row"][box] + 1)
        assert len(plan["passing"][box]) == last - plan["row"][box] - 1


@pytest.mark.parametrize("abreast", [1, 2, 3])
def test_nothing_in_a_row_covers_a_box(abreast: int) -> None:
    plan = plan_rows(COUNT, EDGES)[abreast - 1]
    for row, room in enumerate(plan["room"]):
        usage = [(plan["middle"][box], room) for box in range(COUNT) if plan["row"][box] == row]
        points = enumerate(zip(plan["row"], plan["passing"], strict=True))
        usage += [(way[row - top - 1], 0) for _, (top, way) in points if 0 < row - top <= len(way)]
        usage.sort()
        assert usage[0][0] - usage[0][1] / 2 >= -1
        assert usage[-1][0] + usage[-1][1] / 2 <= WHOLE + 1
        gaps = [right - start - (wide + other) / 2 for (start, wide), (right, other) in pairwise(usage)]
        assert [gap for gap in gaps if gap < -2] == []
