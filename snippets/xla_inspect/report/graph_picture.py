"""A computation as a picture: what does work as boxes from top to bottom, the values between as labelled edges."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import trace_flow
from xla_inspect.plural import plural
from xla_inspect.report import graph_boxes, layers
from xla_inspect.report.figure import figure, svg, svg_group, svg_rect, svg_text
from xla_inspect.targets import title
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Module
    from xla_inspect.report.graph_boxes import Box

# CSS pixels: the column of a phone, a letter and a line of the 10-pixel mono face, and the room around things.
WIDTH, LETTER, LINE, PAD, GAP, DROP, POINT = 352, 6.0, 13, 5, 8, 18, 5
# A box narrower than this says nothing.
NARROW, NAME = 70, 24
# From so many boxes on, each says less.
LARGE = 24
# How many boxes may stand side by side: the first that leaves each the room it needs.
ABREAST = (4, 3, 2, 1)
VALUES = 2


def draw_entry(capture: Capture) -> str:
    """Return the entry computation as HTML: fusions and other work as boxes, edges with shapes and bytes.

    Parameters and constants stand in the boxes that read them; tuples, bitcasts and the ends of asynchronous
    operations are folded into the edges.
    """
    return _figure(capture.module.entry, capture.module, f"{capture.program} on {title(capture.target)}")


def draw_computation(computation: Computation, module: Module | None = None) -> str:
    """Return one computation as HTML, drawn as `entry` draws ENTRY.

    Args:
        computation: What to draw, such as the body of a loop or what a fusion holds.
        module: The module that holds it, so that boxes can say what a fusion holds.
    """
    return _figure(computation, module, computation.name)


def draw_boxes(shown: Sequence[Box], edges: Sequence[tuple[int, int]], caption: str) -> str:
    """Return boxes and the arrows between them as HTML, from top to bottom.

    Args:
        shown: The boxes.
        edges: Pairs of their numbers, the smaller one first.
        caption: What stands under the picture, plain text.
    """
    return figure("graph", _draw(shown, edges, caption, large=False), html.escape(caption))


def _figure(computation: Computation, module: Module | None, what: str) -> str:
    flow = trace_flow(computation)
    boxes = graph_boxes.describe_boxes(flow, computation, module)
    large = len(boxes) > LARGE
    numbers = {node.name: number for number, node in enumerate(flow.nodes)}
    edges = [(numbers[edge.source], numbers[edge.user]) for edge in flow.edges if edge.user is not None]
    folded = len(computation) - len(flow.nodes)
    label = f"{what}: {plural(len(boxes), 'box', 'boxes')}"
    notes = [f"{plural(folded, 'instruction')} that only feed, pack or rename are folded in" if folded else ""]
    notes += ["rest on a box to read the rest of it" if large else ""]
    body = _draw(boxes, sorted(set(edges)), label, large=large) if boxes else ""
    kinds = Counter(box.kind for box in boxes)
    key = "".join(
        f'<span class="key {kind}">{kinds[kind]} {meaning}</span>'
        for kind, meaning in graph_boxes.BOX_KINDS.items()
        if kinds[kind]
    )
    summary = "; ".join([html.escape(label), *(note for note in notes if note)])
    return figure("graph", body, f"{key} {summary}.")


def _fit(
    boxes: Sequence[Box], edges: Sequence[tuple[int, int]], *, large: bool
) -> tuple[layers.Layers, list[list[str]], list[list[str]]]:
    """Return the rows, the text of each box, and the text below each."""
    # A name of usual length is shown whole, as long as the graph is small.
    preferred = [NARROW if large else 2 * PAD + LETTER * min(len(box.lines[0][0]), NAME) for box in boxes]
    for abreast in ABREAST[0 if large else 1 :]:
        arranged = layers.arrange(len(boxes), edges, abreast)
        rooms = zip(arranged.rows, layers.share_room(arranged, WIDTH, POINT), strict=True)
        room = {node: width - GAP for row, width in rooms for node in row}
        if all(room[node] >= least for node, least in enumerate(preferred)):
            break
    room = {node: max(width, NARROW) for node, width in room.items()}
    lines = [_lines(box, _letters(room[node], PAD), large=large) for node, box in enumerate(boxes)]
    labels = [_labels(box, _letters(room[node], 0), large=large) for node, box in enumerate(boxes)]
    return arranged, lines, labels


def _letters(room: float, pad: float) -> int:
    return int((room - 2 * pad) / LETTER)


def _lines(box: Box, room: int, *, large: bool) -> list[str]:
    if large:
        # The colour says the kind: what is left is what it computes.
        _, items = box.lines[1] if len(box.lines) > 1 and box.lines[1][1] else ("", ())
        return [graph_boxes.fit_line(("", items), room) if items else shorten(box.lines[0][0], room)]
    return [graph_boxes.fit_line(line, room) for line in box.lines]


def _labels(box: Box, room: int, *, large: bool) -> list[str]:
    """One line a value, shape and bytes on two where one is too short; the bytes alone in a large graph."""
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
    arranged, lines, labels = _fit(boxes, edges, large=large)
    wide = [2 * PAD + LETTER * max(map(len, texts)) for texts in lines]
    sizes = [
        (
            round(max([box_width, *(LETTER * len(text) for text in below)]) + GAP, 1),
            LINE * len(texts) + PAD,
            LINE * len(below),
        )
        for box_width, texts, below in zip(wide, lines, labels, strict=True)
    ]
    stack = layers.stack_rows(arranged, sizes, WIDTH, point=POINT, drop=DROP)
    drawn = []
    for node, box in enumerate(boxes):
        middle, top, end, width = stack.middle[node], stack.tops[node], stack.ends[node], wide[node]
        texts = [svg_text(middle, top + LINE * at - 1, line) for at, line in enumerate(lines[node], 1)]
        texts += [svg_text(middle, end + LINE * at - 2, line, "made") for at, line in enumerate(labels[node], 1)]
        frame = svg_rect(middle - width / 2, top, width, end - top)
        drawn.append(svg_group(box.told, frame, *texts, kind=f"{box.kind} result" if box.is_result else box.kind))
    return svg(stack.draw_edges() + "".join(drawn), label, stack.size)
