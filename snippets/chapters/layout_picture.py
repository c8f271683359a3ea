"""Drawings of layouts: the elements of a small array at their row and column, numbered by their position in memory."""

from __future__ import annotations

import html
from itertools import product
from typing import TYPE_CHECKING

from chapters.element_order import pad_shape, place_element
from xla_inspect.plural import plural
from xla_inspect.report import figure, svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.hlo import Shape

CELL = 22
DIMENSIONS = 2


def draw_orders(shapes: Mapping[str, Shape], caption: str) -> str:
    """Return drawings of arrays side by side, as HTML.

    Each cell is an element with its position in memory; a line connects the cells in the order of memory. Dashed cells
    are padding.

    Args:
        shapes: Two-dimensional shapes with layouts, by name.
        caption: The caption of the drawings, plain text.

    Raises:
        ValueError: A shape does not have two dimensions, or has no layout.
    """
    drawings = "".join(
        f"<div>{draw_order(shape)}<p><b>{html.escape(name)}</b><br><code>{html.escape(shape.text)}</code></p></div>"
        for name, shape in shapes.items()
    )
    return figure("orders", f'<div class="row">{drawings}</div>', html.escape(caption))


def draw_order(shape: Shape) -> str:
    """Return the drawing of one array as inline SVG.

    Raises:
        ValueError: The shape does not have two dimensions, or has no layout.
    """
    if shape.rank != DIMENSIONS:
        message = f"{shape} has {plural(shape.rank, 'dimension')}, and only arrays of {DIMENSIONS} can be drawn"
        raise ValueError(message)
    rows, columns = pad_shape(shape)
    places = {index: place_element(index, shape) for index in product(range(rows), range(columns))}
    last = max(places.values())
    cells = "".join(_cell(index, shape, number, last) for index, number in places.items())
    by_place = sorted(places, key=lambda index: places[index])
    path = " ".join(f"{(column + 0.5) * CELL:g},{(row + 0.5) * CELL:g}" for row, column in by_place)
    label = f"Positions in memory of the elements of {shape}, row by row: {', '.join(map(str, places.values()))}"
    numbers = "".join(_number(index, number) for index, number in places.items())
    style = f"max-width:{columns * CELL * 1.5:g}px"
    # SVG paints in the order of the text, so the line would cover the numbers if they came first.
    marks = f'{cells}<polyline points="{path}"/>{numbers}'
    # The margin of one pixel leaves room for the strokes of the outer cells.
    return svg(marks, label, (-1, -1, columns * CELL + 2, rows * CELL + 2), style=style)


def _cell(index: tuple[int, ...], shape: Shape, number: int, last: int) -> str:
    row, column = index
    inside = all(where < size for where, size in zip(index, shape.dimensions, strict=True))
    # In an array of one element the last position is 0, which must not be the divisor.
    kind = f'fill-opacity="{0.04 + 0.4 * number / max(last, 1):.2f}"' if inside else 'class="padding"'
    return f'<rect x="{column * CELL}" y="{row * CELL}" width="{CELL}" height="{CELL}" {kind}/>'


def _number(index: tuple[int, ...], number: int) -> str:
    row, column = index
    return f'<text x="{(column + 0.5) * CELL:g}" y="{(row + 0.5) * CELL + 3.5:g}">{number}</text>'
