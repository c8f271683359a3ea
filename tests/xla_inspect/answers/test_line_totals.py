"""Totals of launches by line, and the largest lines."""

from __future__ import annotations

import pytest

from xla_inspect.answers.line_totals import FEW_LINES, sum_lines, sum_scopes, tell_lines, tell_scopes


def test_a_line_has_the_sum_of_its_launches_and_the_largest_is_first() -> None:
    lines = sum_lines([("a.py:1", "x", 1.0), ("a.py:2", "y", 2.5), ("a.py:1", "x", 3.0), ("", "", 0.5)])
    assert [(line.where, line.launches, line.amount) for line in lines] == [
        ("a.py:1", 2, 4.0),
        ("a.py:2", 1, 2.5),
        ("", 1, 0.5),
    ]
    table = tell_lines(lines, "time", lambda amount: f"{amount} s")
    assert table.rows[0] == ("4.0 s", "57%", "2", "a.py:1 x")
    assert table.rows[-1][-1] == "no line known"


@pytest.mark.parametrize("number", [FEW_LINES, FEW_LINES + 3])
def test_the_title_counts_the_lines_if_not_all_are_shown(number: int) -> None:
    table = tell_lines(sum_lines([(f"a.py:{at}", "", 1.0) for at in range(number)]), "time", str)
    assert len(table.rows) == FEW_LINES
    assert table.title.endswith(f"largest of {number})") == (number > FEW_LINES)


def test_a_share_of_zero_is_zero() -> None:
    assert tell_lines(sum_lines([("a.py:1", "", 0.0)]), "time", str).rows == (("0.0", "0%", "1", "a.py:1"),)


ROWS = [
    ("model.py:5", "layer_0/mlp", 6.0),
    ("model.py:5", "layer_0/mlp", 1.0),
    ("model.py:5", "layer_1/norm", 2.0),
    ("model.py:6", "", 1.0),
]


@pytest.mark.parametrize(
    ("where", "title"), [("model.py:5", "By scope in model.py:5"), ("", "By scope for values without a line")]
)
def test_a_line_with_most_of_the_amount_is_broken_down_by_scope(where: str, title: str) -> None:
    scopes = sum_scopes([(where if line == "model.py:5" else line, *rest) for line, *rest in ROWS])
    assert [(scope.text, scope.launches, scope.amount) for scope in scopes] == [
        ("layer_0/mlp", 2, 7.0),
        ("layer_1/norm", 1, 2.0),
    ]
    table = tell_scopes(scopes, "bytes", str, "values")
    assert (table.title, table.columns) == (title, ("bytes", "share", "values", "scope"))
    assert [row[-1] for row in table.rows] == ["layer_0/mlp", "layer_1/norm"]


def test_scopes_are_omitted_if_no_line_dominates_or_it_has_one_scope() -> None:
    assert sum_scopes([*ROWS[:1], ("model.py:9", "z", 6.5)]) == ()
    assert sum_scopes(ROWS[:2]) == ()
    assert sum_scopes([]) == ()
