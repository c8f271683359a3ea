"""The drawing of a layout, with each cell numbered by its position in memory."""

from __future__ import annotations

import re

import pytest

from chapters import layout_picture
from xla_inspect.hlo import parse_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[2,3]{1,0}", [0, 1, 2, 3, 4, 5]),
        ("f32[2,3]{0,1}", [0, 2, 4, 1, 3, 5]),
        ("f32[2,4]{1,0:T(2,2)}", [0, 1, 4, 5, 2, 3, 6, 7]),
    ],
)
def test_the_cells_are_numbered_row_by_row(text: str, expected: list[int]) -> None:
    picture = layout_picture.draw_order(parse_shape(text))
    assert [int(number) for number in re.findall(r">(\d+)</text>", picture)] == expected


def test_padding_is_drawn_and_marked() -> None:
    picture = layout_picture.draw_order(parse_shape("f32[3,5]{1,0:T(2,2)}"))
    assert picture.count("<rect") == 4 * 6
    assert picture.count('class="padding"') == 4 * 6 - 3 * 5


def test_only_two_dimensions_are_drawn() -> None:
    with pytest.raises(ValueError, match="has 1 dimension, and only arrays of 2"):
        layout_picture.draw_order(parse_shape("f32[3]{0}"))
