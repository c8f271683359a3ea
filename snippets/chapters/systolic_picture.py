"""A drawing of a systolic array: a square of cells that keep weights while rows and sums move through them."""

from __future__ import annotations

from itertools import product

from xla_inspect.report import figure, svg

_STEP, _CELL = 44, 30


def draw_array(side: int, used: int, caption: str) -> str:
    """Return a drawing of an array of cells as HTML; dashed cells keep padding.

    Args:
        side: The number of cells in each direction.
        used: The number of rows of weights, which equals the number of elements in a row of the other matrix.
        caption: The caption, plain text.
    """
    marks = []
    for row, column in product(range(side), range(side)):
        x, y = _STEP * (1 + column), _STEP * (1 + row)
        name, kind = (f"w{row}{column}", 'fill-opacity="0.25"') if row < used else ("0", 'class="padding"')
        marks.append(f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" {kind}/>')
        marks.append(_draw_text(x + _CELL / 2, y + _CELL / 2, name))
        # Each cell passes the input number of its row to the right, and the partial sum down.
        marks.append(_draw_text(x - (_STEP - _CELL) / 2, y + _CELL / 2, "→"))
        marks.append(_draw_text(x + _CELL / 2, y + _CELL + (_STEP - _CELL) / 2, "↓"))
    for place in range(side):
        marks.append(_draw_text(_STEP / 2, _STEP * (1 + place) + _CELL / 2, f"x{place}" if place < used else "0"))
        marks.append(_draw_text(_STEP * (1 + place) + _CELL / 2, _STEP * (1 + side) + 10, f"y{place}"))
    width = _STEP * (1 + side)
    label = (
        f"{side} by {side} cells, {used} rows of them with weights; "
        f"{used} numbers of x enter from the left, and {side} sums y leave below"
    )
    picture = svg("".join(marks), label, (0, _STEP / 2, width, width), style=f"max-width:{1.5 * width:g}px")
    return figure("orders", picture, caption)


def _draw_text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y + 3.5:g}">{text}</text>'
