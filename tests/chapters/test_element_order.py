"""The position of elements in memory, compared with NumPy, XLA's documentation and a TPU's buffers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chapters.element_order import pad_shape, place_element, share_of_padding, weigh_orders
from xla_inspect.hlo import parse_shape


@pytest.mark.parametrize("order", ["2,1,0", "0,1,2", "1,0,2", "2,0,1"])
def test_without_tiles_an_element_has_numpys_position(order: str) -> None:
    shape = parse_shape(f"f32[3,4,5]{{{order}}}")
    major_to_minor = [int(number) for number in order.split(",")][::-1]
    # NumPy numbers the elements of an array whose axes stand in that order; seen in the shape's own order again.
    expected = np.arange(60).reshape([shape.dimensions[axis] for axis in major_to_minor])
    expected = expected.transpose(np.argsort(major_to_minor))
    assert [place_element(index, shape) for index in np.ndindex(3, 4, 5)] == expected.ravel().tolist()


def test_a_tiled_element_has_the_documented_position() -> None:
    # https://openxla.org/xla/tiled_layout: element (2, 3) of f32[3,5] in tiles of 2 x 2 has the linear index 17.
    assert place_element((2, 3), parse_shape("f32[3,5]{1,0:T(2,2)}")) == 17


@pytest.mark.parametrize("text", ["f32[3,5]{1,0:T(2,2)}", "bf16[5,7]{0,1:T(4,4)(2,1)}", "f32[5]{0:T(8)}"])
def test_elements_and_padding_fill_the_memory_without_gap_or_overlap(text: str) -> None:
    shape = parse_shape(text)
    sizes = pad_shape(shape)
    places = sorted(place_element(index, shape) for index in product(*map(range, sizes)))
    assert places == list(range(int(np.prod(sizes))))


def test_padding_is_what_the_tile_rounds_up() -> None:
    shape = parse_shape("f32[100,200]{0,1:T(8,128)}")
    assert pad_shape(shape) == (128, 200)
    assert share_of_padding(shape) == 1 - (100 * 200) / (128 * 200)


def test_orders_are_compared_with_the_same_tiles() -> None:
    shape = parse_shape("f32[100,200]{0,1:T(8,128)}")
    assert weigh_orders(shape) == {(0, 1): 4 * 128 * 200, (1, 0): 4 * 104 * 256}


@pytest.mark.parametrize(("text", "what"), [("f32[3,5]", "no layout"), ("f32[3,5]{1,0:T(*,2)}", "combines")])
def test_a_shape_that_does_not_say_where_its_elements_lie_is_refused(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        place_element((0, 0), parse_shape(text))
