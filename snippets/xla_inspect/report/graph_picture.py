"""A picture of a computation: instructions that do work are boxes from top to bottom, values are labeled edges."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import trace_flow
from xla_inspect.plural import plural
from xla_inspect.report import graph_boxes, layers
from xla_inspect.report.svg_figure import figure, svg
from xla_inspect.targets import title
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Module
    from xla_inspect.report.graph_boxes import Box
    from xla_inspect.report.layers import Layers

# CSS pixels: the column of a phone, a letter and a line of the 10-pixel monospace font, and the space around elements.
WIDTH, LETTER, LINE, PAD, GAP, DROP, POINT = 352, 6.0, 13, 5, 8, 18, 5
# A box narrower than this has no room for a useful text.
NARROW, NAME = 70, 24
# A graph with more boxes than this shows only the opcodes and bytes of each box.
LARGE = 24
# Numbers of boxes per row to try, in order: the first that leaves each box enough room is used.
ABREAST = (4, 3, 2, 1)
VALUES = 2


def draw_entry(capture: Capture) -> str:
    """Draw the entry computation as HTML: fusions and other work as boxes, edges with shapes and bytes.

    Parameters and constants are listed in the boxes that read them. Tuples, bitcasts and the ends of asynchronous
    operations are folded into the edges.
    """
    return _figure(capture.module.entry, capture.module, f"{capture.program} on {title(capture.target)}")


def draw_computation(computation: Computation, module: Module | None = None) -> str:
    """Draw one computation as HTML, in the same way as `draw_entry` draws the entry computation.

    Args:
        computation: The computation, such as the body of a loop or of a fusion.
        module: The module of the computation, so that boxes can list the opcodes inside a fusion.
    """
    return _figure(computation, module, computation.name)


def draw_boxes(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], caption: str) -> str:
    """Draw boxes and the arrows between them as HTML, from top to bottom.

    Args:
        boxes: The boxes.
        edges: Pairs of box numbers, the smaller number first.
        caption: The caption below the picture, plain text.
    """
    return figure("graph", _draw(boxes, edges, caption, large=False), html.escape(caption))


def _figure(computation: Computation, module: Module | None, what: str) -> str:
    flow = trace_flow(computation)
    boxes = graph_boxes.describe_boxes(flow, computation, module)
    large = len(boxes) > LARGE
    numbers = {node.name: number for number, node in enumerate(flow.nodes)}
    # Edges without a user leave the computation as its result and need no arrow.
    edges = [(numbers[edge.source], numbers[edge.user]) for edge in flow.edges if edge.user is not None]
    folded = len(computation) - len(flow.nodes)
    label = f"{what}: {plural(len(boxes), 'box', 'boxes')}"
    are = "is" if folded == 1 else "are"
    notes = [f"{plural(folded, 'instruction')} without work {are} folded into the edges and boxes" if folded else ""]
    notes += ["hover over a box to read its full text" if large else ""]
    # Two values from one instruction to another are one arrow in the picture.
    body = _draw(boxes, sorted(set(edges)), label, large=large) if boxes else ""
    kinds = Counter(box.kind for box in boxes)
    key = "".join(
        f'<span class="key {kind}">{kinds[kind]} {meaning}</span>'
        for kind, meaning in graph_boxes.BOX_KINDS.items()
        if kinds[kind]
    )
    summary = "; ".join([html.escape(label), *(note for note in notes if note)])
    return figure("graph", body, f"{key} {summary}.")


@dataclass(frozen=True)
class _Plan:
    """The places of all boxes, labels and edges, in CSS pixels.

    Attributes:
        layers: The rows.
        widths: The width of each node, including the space around it; points of edges are nodes too.
        middle: The horizontal center of each node.
        lines: The text of each box.
        labels: The text below each box.
        top: The upper end of each row.
        edge: The lower end of the boxes of each row; their labels are below it.
        bottom: The lower end of each row.
        width: The width of the picture.
    """

    layers: Layers
    widths: list[float]
    middle: list[float]
    lines: list[list[str]]
    labels: list[list[str]]
    top: list[float]
    edge: list[float]
    bottom: list[float]
    width: float


def _plan(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], *, large: bool) -> _Plan:
    # In a small graph each box is wide enough for a whole name of usual length.
    preferred = [NARROW if large else 2 * PAD + LETTER * min(len(box.lines[0][0]), NAME) for box in boxes]
    # The preferred arrangement has many boxes in a row; fewer make each box wide enough for its text.
    for abreast in ABREAST[0 if large else 1 :]:
        arranged = layers.arrange(len(boxes), edges, abreast)
        room = {node: _room(row, len(boxes)) for row in arranged.rows for node in row}
        if all(room[node] >= least for node, least in enumerate(preferred)):
            break
    room = {node: max(width, NARROW) for node, width in room.items()}
    lines = [_lines(box, _letters(room[node], PAD), large=large) for node, box in enumerate(boxes)]
    labels = [_labels(box, _letters(room[node], 0), large=large) for node, box in enumerate(boxes)]
    count = sum(map(len, arranged.rows))
    widths = [float(POINT)] * count
    for node in range(len(boxes)):
        text = max([2 * PAD + LETTER * max(map(len, lines[node])), *(LETTER * len(label) for label in labels[node])])
        widths[node] = round(text + GAP, 1)
    row_width = max(sum(widths[node] for node in row) for row in arranged.rows)
    width = max(float(WIDTH), row_width)
    top, edge, bottom, y = [], [], [], 1.0
    for row in arranged.rows:
        here = [node for node in row if node < len(boxes)]
        top.append(y)
        edge.append(y + LINE * max((len(lines[node]) for node in here), default=0) + PAD)
        bottom.append(edge[-1] + LINE * max((len(labels[node]) for node in here), default=0))
        y = bottom[-1] + DROP
    middle = layers.place_nodes(arranged, widths, width)
    return _Plan(arranged, widths, middle, lines, labels, top, edge, bottom, width)


def _room(row: Sequence[int], count: int) -> float:
    """Return the width in CSS pixels that is available for each box of a row."""
    here = sum(node < count for node in row)
    return (WIDTH - (len(row) - here) * POINT) / here - GAP if here else WIDTH


def _letters(room: float, pad: float) -> int:
    return int((room - 2 * pad) / LETTER)


def _lines(box: Box, room: int, *, large: bool) -> list[str]:
    if large:
        # The color already shows the kind of fusion, so only the opcodes are written.
        _, items = box.lines[1] if len(box.lines) > 1 and box.lines[1][1] else ("", ())
        return [graph_boxes.fit_line(("", items), room) if items else shorten(box.lines[0][0], room)]
    return [graph_boxes.fit_line(line, room) for line in box.lines]


def _labels(box: Box, room: int, *, large: bool) -> list[str]:
    """Return shape and bytes of the first values (in a large graph only bytes), and the number of the others."""
    lines: list[str] = []
    for full, short in box.labels[:VALUES]:
        if large:
            lines.append(short)
        elif len(full) <= room:
            lines.append(full)
        else:
            lines += [shorten(full.removesuffix(short).strip(), room), short]
    if len(box.labels) > VALUES:
        lines = [*lines[:1], f"+{len(box.labels) - 1} values"]
    return lines


def _draw(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], label: str, *, large: bool) -> str:
    plan = _plan(boxes, edges, large=large)
    row_of = {node: number for number, row in enumerate(plan.layers.rows) for node in row}
    paths = "".join(_paths(plan, row_of, len(boxes)))
    shapes = "".join(_draw_box(plan, box, node, row_of[node]) for node, box in enumerate(boxes))
    return svg(f'<path class="edges" d="{paths}"/>{shapes}', label, (round(plan.width), round(plan.bottom[-1] + 2)))


def _paths(plan: _Plan, row_of: dict[int, int], count: int) -> Iterator[str]:
    """Yield the path commands of every edge; an edge that passes a row goes straight down through it."""
    for node in range(count, len(plan.middle)):
        row = row_of[node]
        yield f"M{plan.middle[node]:.1f} {plan.top[row]:.1f}V{plan.bottom[row]:.1f}"
    leaving = {upper for upper, _ in plan.layers.steps if upper < count}
    for node in sorted(leaving):
        row = row_of[node]
        # The edge starts below the labels, so that it crosses none of them.
        start = _end(plan, node, row) + LINE * len(plan.labels[node])
        yield f"M{plan.middle[node]:.1f} {start:.1f}V{plan.bottom[row]:.1f}"
    for upper, lower in plan.layers.steps:
        x, y = plan.middle[upper], plan.bottom[row_of[upper]]
        to, end = plan.middle[lower], plan.top[row_of[lower]]
        # The control points of the curve are at half height, so edges leave and enter boxes vertically.
        half = (y + end) / 2
        arrow = "m-3-4l3 4l3-4" if lower < count else ""
        yield f"M{x:.1f} {y:.1f}C{x:.1f} {half:.1f} {to:.1f} {half:.1f} {to:.1f} {end:.1f}{arrow}"


def _end(plan: _Plan, node: int, row: int) -> float:
    """Return the lower end of a box."""
    return plan.top[row] + LINE * len(plan.lines[node]) + PAD


def _draw_box(plan: _Plan, box: Box, node: int, row: int) -> str:
    middle, top, end = plan.middle[node], plan.top[row], _end(plan, node, row)
    lines, labels = plan.lines[node], plan.labels[node]
    width = 2 * PAD + LETTER * max(map(len, lines))
    rows = [(top + LINE * (number + 1) - 1, line, "") for number, line in enumerate(lines)]
    rows += [(end + LINE * (number + 1) - 2, line, ' class="made"') for number, line in enumerate(labels)]
    texts = "".join(f'<text x="{middle:.1f}" y="{y:.1f}"{kind}>{html.escape(text)}</text>' for y, text, kind in rows)
    kind = f"{box.kind} result" if box.is_result else box.kind
    return (
        f'<g class="{kind}"><title>{html.escape(box.tooltip)}</title>'
        f'<rect x="{middle - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{end - top:.1f}"/>{texts}</g>'
    )
