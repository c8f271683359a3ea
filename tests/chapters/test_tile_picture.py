"""The drawing of a tiled array."""

from __future__ import annotations

import re

import pytest

from chapters import tile_picture
from xla_inspect.hlo import parse_shape


def test_tiles_cover_the_array_and_are_numbered_as_memory_has_them() -> None:
    picture = tile_picture.draw_tiles(parse_shape("f32[20,200]{1,0:T(8,128)}"))
    assert re.findall(r">tile (\d)<", picture) == list("012345")
    assert "20 of 24 rows and 200 of 256 columns contain elements; the rest is padding." in picture
    assert "The 16,000 bytes of elements occupy 24,576 bytes." in picture


def test_a_column_major_matrix_is_drawn_in_memory_order() -> None:
    picture = tile_picture.draw_tiles(parse_shape("f32[200,20]{0,1:T(8,128)}"))
    assert "20 of 24 rows and 200 of 256 columns" in picture


def test_the_array_fills_its_share_of_the_drawing() -> None:
    picture = tile_picture.draw_tiles(parse_shape("f32[8,64]{1,0:T(8,128)}"))
    (array,) = re.findall(r'class="array"[^>]* width="([\d.]+)"', picture)
    (padding,) = re.findall(r'class="padding"[^>]* width="([\d.]+)"', picture)
    assert float(array) == float(padding) / 2


@pytest.mark.parametrize("text", ["f32[8]{0:T(256)}", "f32[8,8]{1,0}", "f32[]"])
def test_a_shape_other_than_a_tiled_matrix_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"cannot draw f32\["):
        tile_picture.draw_tiles(parse_shape(text))
