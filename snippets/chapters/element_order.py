"""Positions of an array's elements in memory: minor-to-major order, tiles and the padding that tiles need."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.hlo import Layout, Shape


def place_element(index: Sequence[int], shape: Shape) -> int:
    """Return the position in memory of the element at an index, in elements from the start of the array.

    Each tile splits the innermost dimensions into a tile number and a position inside the tile. The next tile splits
    the innermost dimensions of that result (https://openxla.org/xla/tiled_layout).

    Args:
        index: The index in each dimension, in the order of the shape; an index in the padding is allowed.
        shape: An array with a layout, without tiles that combine dimensions (`*`).

    Raises:
        ValueError: The shape has no layout, or a tile of another kind.
    """
    layout = _read_layout(shape)
    # A tile splits the dimensions from major to minor, the reverse of the order in the layout.
    sizes = [shape.dimensions[number] for number in reversed(layout.minor_to_major)]
    places = [index[number] for number in reversed(layout.minor_to_major)]
    for tile in layout.tiles:
        # A tile may have more dimensions than the array, which then gets extra dimensions of size 1.
        missing = max(len(tile) - len(sizes), 0)
        sizes, places = [1] * missing + sizes, [0] * missing + places
        start = len(sizes) - len(tile)
        # The double negation rounds the quotient up, without floating-point numbers.
        counts = [-(-size // step) for size, step in zip(sizes[start:], tile, strict=True)]
        split = [divmod(where, step) for where, step in zip(places[start:], tile, strict=True)]
        sizes = [*sizes[:start], *counts, *tile]
        places = [*places[:start], *(outer for outer, _ in split), *(inner for _, inner in split)]
    position = 0
    for size, where in zip(sizes, places, strict=True):
        position = position * size + where
    return position


def pad_shape(shape: Shape) -> tuple[int, ...]:
    """Return the sizes of an array, in the order of its shape, each rounded up to the first tile of its layout.

    Raises:
        ValueError: The shape has no layout, or a tile that `place_element` does not support.
    """
    layout = _read_layout(shape)
    sizes = list(shape.dimensions)
    # A tile may have fewer dimensions than the array, whose most major dimensions then need no padding.
    for number, step in zip(layout.minor_to_major, reversed(layout.tiles[0] if layout.tiles else ()), strict=False):
        sizes[number] = -(-sizes[number] // step) * step
    return tuple(sizes)


def weigh_orders(shape: Shape) -> Mapping[tuple[int, ...], int]:
    """Return the bytes that an array with the same tiles would need in each minor-to-major order.

    Raises:
        ValueError: The shape has no layout.
    """
    layout = _read_layout(shape)
    orders = permutations(range(shape.rank))
    return {order: replace(shape, layout=replace(layout, minor_to_major=order)).padded_bytes for order in orders}


def share_of_padding(shape: Shape) -> float:
    """Return the fraction of an array's memory that is padding, from 0 to 1."""
    return 1 - shape.bytes / shape.padded_bytes


def _read_layout(shape: Shape) -> Layout:
    if shape.layout is None:
        message = f"{shape} has no layout"
        raise ValueError(message)
    # The parser stores a `*` in a tile, which combines dimensions, as a size below 1.
    if any(step < 1 for tile in shape.layout.tiles for step in tile):
        message = f"{shape} has a tile that combines dimensions"
        raise ValueError(message)
    return shape.layout
