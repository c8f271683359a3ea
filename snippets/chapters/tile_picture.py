"""A picture of a tiled array in a TPU's memory: the array, its tiles and their padding."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.report import figure, svg

if TYPE_CHECKING:
    from xla_inspect.hlo import Shape

WIDTH, HEIGHT, LEFT, TOP = 360, 170, 4, 18
RANK = 2


def draw_tiles(shape: Shape) -> str:
    """Return a picture of a matrix in tiles as HTML, with tiles numbered in the order of memory and padding hatched.

    Args:
        shape: A two-dimensional shape with a tiled layout.

    Raises:
        ValueError: The shape has another rank, or no tiles.
    """
    layout = shape.layout
    if shape.rank != RANK or layout is None or not layout.tiles or len(layout.tiles[0]) != RANK:
        message = f"cannot draw {shape.text}: only a matrix in two-dimensional tiles can be drawn"
        raise ValueError(message)
    minor, major = layout.minor_to_major
    rows, columns = shape.dimensions[major], shape.dimensions[minor]
    high, wide = layout.tiles[0]
    down, across = math.ceil(rows / high), math.ceil(columns / wide)
    x, y = (WIDTH - 2 * LEFT) / (across * wide), (HEIGHT - TOP - LEFT) / (down * high)
    tiles = "".join(
        f'<rect class="tile" x="{LEFT + column * wide * x:.1f}" y="{TOP + row * high * y:.1f}"'
        f' width="{wide * x:.1f}" height="{high * y:.1f}"/>'
        f'<text x="{LEFT + column * wide * x + 5:.1f}" y="{TOP + row * high * y + 14:.1f}">'
        f"tile {row * across + column}</text>"
        for row in range(down)
        for column in range(across)
    )
    caption = (
        f"{shape.text} in {plural(down * across, 'tile')} of {high} x {wide}, numbered in the order of memory. "
        f"{rows:,} of {down * high:,} rows and {columns:,} of {across * wide:,} columns contain elements; "
        f"the rest is padding. The {shape.bytes:,} bytes of elements occupy {shape.padded_bytes:,} bytes."
    )
    # The padding is painted first, so that the array covers it where it has elements.
    marks = (
        f'<text x="{LEFT}" y="12">{columns:,} of'
        f" {across * wide:,} columns across, {rows:,} of {down * high:,} rows down</text>"
        f'<rect class="padding" x="{LEFT}" y="{TOP}" width="{WIDTH - 2 * LEFT}" height="{HEIGHT - TOP - LEFT}"/>'
        f'<rect class="array" x="{LEFT}" y="{TOP}" width="{columns * x:.1f}" height="{rows * y:.1f}"/>'
        f"{tiles}"
    )
    return figure("tiles", svg(marks, caption, (WIDTH, HEIGHT)), html.escape(caption))
