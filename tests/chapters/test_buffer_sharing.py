"""Sharing of equal buffers between values that are never live at the same time."""

from __future__ import annotations

import itertools

import pytest

from chapters.buffer_sharing import list_plans, most_live, share_buffers

FOUR = {"A": (1, 2), "B": (1, 3), "C": (2, 3), "D": (3, 5)}
SPANS = [(first, last) for first in range(1, 4) for last in range(first, 4)]


def test_four_values_take_three_buffers_and_cannot_take_two() -> None:
    assert share_buffers(FOUR) == {"A": 0, "B": 1, "C": 2, "D": 0}
    assert list_plans(FOUR, 2) == []
    assert most_live(FOUR) == ("A", "B", "C")


def test_every_plan_is_listed_once() -> None:
    assert list_plans(FOUR, 3) == [{"A": 0, "B": 1, "C": 2, "D": 0}]
    assert list_plans({"A": (1, 1), "B": (2, 2)}, 2) == [{"A": 0, "B": 0}, {"A": 0, "B": 1}]


@pytest.mark.parametrize("spans", list(itertools.combinations_with_replacement(SPANS, 4)))
def test_sharing_in_order_is_as_good_as_any_plan(spans: tuple[tuple[int, int], ...]) -> None:
    """The plan is the best for every choice of four live ranges over three points in time."""
    ranges = dict(zip("abcd", spans, strict=True))
    slot_count = max(share_buffers(ranges).values()) + 1
    assert slot_count == len(most_live(ranges))
    assert list_plans(ranges, slot_count) != []
    assert list_plans(ranges, slot_count - 1) == []


def test_no_values_need_no_buffer() -> None:
    assert share_buffers({}) == {}
    assert most_live({}) == ()
