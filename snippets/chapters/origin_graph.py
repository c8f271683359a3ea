"""A small graph of a compiled function: a box for each launch, with operations in the colours of the Python code."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chapters.operation_marks import COLOURS
from xla_inspect.analysis import list_origins, trace_flow
from xla_inspect.hlo import IDLE
from xla_inspect.report import arrange, lane, place_nodes, shorten, title
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chapters.operation_marks import OperationMark
    from xla_inspect.captured import Capture
    from xla_inspect.report import Layers

# CSS pixels: the width of the graph, a letter and a line of the 10-pixel monospaced font, a chip, and spacing.
WIDTH, LETTER, LINE, CHIP, PAD, GAP, DROP, POINT = 204, 6.0, 13, 15, 4, 3, 14, 4
ABREAST = 2
# Opcodes that a box omits unless it would be empty without them.
_PLUMBING = IDLE | {"broadcast", "reshape", "convert", "transpose"}


@dataclass(frozen=True, slots=True)
class _Chip:
    """An opcode in a box, with the number of its Python operation, if any, and its position in the box."""

    opcode: str
    number: int | None
    x: float
    y: float

    @property
    def width(self) -> float:
        return _width(self.opcode)


@dataclass(frozen=True, slots=True)
class _Box:
    """A launch: its name, its chips, the size of its output in words, and the size of its box in pixels."""

    name: str
    chips: tuple[_Chip, ...]
    made: str
    width: float
    height: float

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(chip.number for chip in self.chips if chip.number is not None))


def draw_origins(capture: Capture, marks: Sequence[OperationMark], summary: str) -> str:
    """Return the launches of a target as HTML: boxes from top to bottom, with arrows labelled with bytes.

    A box contains the operations of its launch, each in the colour of the Python operation that it comes from.

    Args:
        capture: The capture.
        marks: The operations of the Python function.
        summary: The text next to the name of the target, plain text, such as the number of kernels.
    """
    flow = trace_flow(capture.module.entry)
    numbers = {node.name: number for number, node in enumerate(flow.nodes)}
    # An edge without a user leads to a result of the program, which has no box.
    edges = sorted({(numbers[edge.source], numbers[edge.user]) for edge in flow.edges if edge.user is not None})
    layers = arrange(len(flow.nodes), edges, ABREAST)
    rooms = {node: _find_room(row, len(flow.nodes)) for row in layers.rows for node in row}
    by_expression = {(mark.line, mark.expression): mark.number for mark in marks}
    boxes = []
    # A launch's own opcode, such as `fusion`, gets a chip only if it comes from an expression.
    for number, node in enumerate(flow.nodes):
        opcodes = [
            (opcode, by_expression.get((origin.line or 0, origin.expression)))
            for origin in list_origins(capture, node)
            for opcode in origin.opcodes
            if opcode != node.opcode or origin.expression
        ]
        # A result with several readers has several edges, but it is stored once.
        sizes = {edge.shape.bytes for edge in (*flow.edges, *flow.results) if edge.source == node.name}
        boxes.append(_fit(node.name, opcodes, " + ".join(map(format_bytes, sorted(sizes))), rooms[number]))
    name = title(capture.target)
    heading = f"<p><b>{html.escape(name)}</b> <span>{html.escape(summary)}</span></p>"
    return f'<div class="origins {lane(capture.target)}">{heading}{_draw(boxes, layers, f"{name}: {summary}")}</div>\n'


def _width(text: str) -> float:
    return LETTER * len(text) + 2 * PAD


def _find_room(row: Sequence[int], count: int) -> float:
    """Return the maximum width of a box in a row that also contains points where edges pass."""
    here = sum(node < count for node in row)
    return (WIDTH - POINT * (len(row) - here)) / max(here, 1) - GAP


def _fit(name: str, opcodes: Sequence[tuple[str, int | None]], output: str, room: float) -> _Box:
    """Return a box that is at most `room` wide: its name, and rows of chips below it."""
    work = [item for item in opcodes if item[0] not in _PLUMBING] or opcodes
    label = shorten(name, int((room - 2 * PAD) / LETTER))
    chips: list[_Chip] = []
    x, y, widest = float(PAD), float(LINE + PAD), _width(label)
    for opcode, number in work:
        if x > PAD and x + _width(opcode) + PAD > room:
            x, y = float(PAD), y + CHIP + GAP
        chips.append(_Chip(opcode, number, x, y))
        x += _width(opcode) + GAP
        widest = max(widest, x - GAP + PAD)
    bottom = y + CHIP + PAD if chips else LINE + PAD
    return _Box(label, tuple(chips), output, min(widest, room), bottom)


def _draw(boxes: Sequence[_Box], layers: Layers, label: str) -> str:
    # The nodes after the boxes are points at which long edges pass through a row.
    widths = [max(box.width, LETTER * len(box.made)) + GAP for box in boxes] + [float(POINT)] * (
        sum(map(len, layers.rows)) - len(boxes)
    )
    middle = place_nodes(layers, widths, WIDTH)
    tops, ends, y = [], [], 1.0
    for row in layers.rows:
        tops.append(y)
        ends.append(y + max((boxes[node].height for node in row if node < len(boxes)), default=0))
        y = ends[-1] + LINE + DROP
    row_of = {node: number for number, row in enumerate(layers.rows) for node in row}
    paths = "".join(_paths(layers, middle, (tops, ends), row_of, boxes))
    marks = "".join(_show_box(box, middle[node], tops[row_of[node]]) for node, box in enumerate(boxes))
    height = round(y - DROP + 2)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{html.escape(label)}">'
        f'<path class="edges" d="{paths}"/>{marks}</svg>'
    )


def _paths(
    layers: Layers,
    middle: Sequence[float],
    rows: tuple[Sequence[float], Sequence[float]],
    row_of: dict[int, int],
    boxes: Sequence[_Box],
) -> Iterator[str]:
    tops, ends = rows
    for node in range(len(boxes), len(middle)):
        yield f"M{middle[node]:.1f} {tops[row_of[node]]:.1f}V{ends[row_of[node]] + LINE:.1f}"
    for upper, lower in layers.steps:
        row = row_of[upper]
        # The edge starts below the label of its box, so that it does not cross the label.
        start = tops[row] + boxes[upper].height + LINE if upper < len(boxes) else ends[row] + LINE
        x, y, to, end = middle[upper], ends[row] + LINE, middle[lower], tops[row_of[lower]]
        half = (y + end) / 2
        # An edge that ends at a point continues in the next row, so it gets no arrowhead.
        arrow = "m-3-4l3 4l3-4" if lower < len(boxes) else ""
        yield f"M{x:.1f} {start:.1f}V{y:.1f}C{x:.1f} {half:.1f} {to:.1f} {half:.1f} {to:.1f} {end:.1f}{arrow}"


def _show_box(box: _Box, middle: float, top: float) -> str:
    x = middle - box.width / 2
    chips = "".join(_show_chip(chip, x, top) for chip in box.chips)
    holds = ", ".join(chip.opcode for chip in box.chips)
    label = f"{box.name}: {holds}; makes {box.made}" if holds else f"{box.name}: makes {box.made}"
    linked = f' data-of="{" ".join(map(str, box.numbers))}"' if box.numbers else ""
    return (
        f'<g class="launch"{linked} tabindex="0" role="img" aria-label="{html.escape(label)}">'
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
        f'<text x="{middle:.1f}" y="{top + LINE - 1:.1f}">{html.escape(box.name)}</text>{chips}'
        f'<text class="made" x="{middle:.1f}" y="{top + box.height + LINE - 2:.1f}">{box.made}</text></g>'
    )


def _show_chip(chip: _Chip, start: float, top: float) -> str:
    x, y = start + chip.x, top + chip.y
    colour, linked = "", ""
    if chip.number is not None:
        colour, linked = f" c{(chip.number - 1) % COLOURS}", f' data-of="{chip.number}"'
    return (
        f'<g class="operation{colour}"{linked}>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{chip.width:.1f}" height="{CHIP}" rx="2"/>'
        f'<text x="{x + chip.width / 2:.1f}" y="{y + CHIP - 4:.1f}">{html.escape(chip.opcode)}</text></g>'
    )
