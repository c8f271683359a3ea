"""An arc diagram of a program: one row per step, and an arc from each result to each step that uses it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.analysis import INPUT, find_residuals, is_residual, list_edges
from xla_inspect.plural import plural
from xla_inspect.report import figure, svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis import JaxprStep

WIDTH, ROW, TOP = 360, 19, 4
# The left edges of shapes and arcs, and the reach of the longest arc's control points; the curve reaches 3/4 as far.
SHAPE, START, REACH = 116, 218, 176


def draw_arcs(steps: Sequence[JaxprStep], caption: str) -> str:
    """Return an arc diagram of the steps as HTML: names and shapes in order, with arcs to the right of them.

    An arc that leaves its group is bold, because its value has to be stored until the later group uses it.
    Steps that no result depends on are faint.

    Args:
        steps: At least one step.
        caption: A description of the diagram, plain text.
    """
    height = TOP * 2 + ROW * len(steps)
    longest = max((target - source for source, target in list_edges(steps)), default=1)
    groups = [step.group for step in steps]
    bands = "".join(
        f'<rect class="band" x="0" y="{TOP + ROW * groups.index(group)}" width="{WIDTH}"'
        f' height="{ROW * groups.count(group)}"/>'
        for group in list(dict.fromkeys(groups))[1:]
    )
    arcs = "".join(_arc(source, target, longest, _kind(steps, source, target)) for source, target in list_edges(steps))
    rows = "".join(_row(index, step) for index, step in enumerate(steps))
    return figure("arcs", svg(bands + arcs + rows, describe_arcs(steps), (WIDTH, height)), html.escape(caption))


def describe_arcs(steps: Sequence[JaxprStep]) -> str:
    """Return the diagram in words: the number of steps, and the values stored between groups."""
    inputs = sum(step.name == INPUT for step in steps)
    description = f"{plural(inputs, 'input')} and {plural(len(steps) - inputs, 'equation')}"
    dead = sum(not step.live for step in steps if step.name != INPUT)
    if dead:
        description += f", {dead} of which {'has' if dead == 1 else 'have'} no effect on the results"
    waiting = find_residuals(steps)
    if waiting:
        size = sum(steps[index].bytes for index in waiting)
        description += f"; {plural(len(waiting), 'value')} of {plural(size, 'byte')} in total stored for a later group"
    return description


def _row(index: int, step: JaxprStep) -> str:
    y = TOP + ROW * index + ROW * 0.7
    kind = "input" if step.name == INPUT else "step" if step.live else "dead"
    return (
        f'<text class="{kind}" x="4" y="{y:.1f}">{html.escape(step.name)}</text>'
        f'<text class="{kind} shape" x="{SHAPE}" y="{y:.1f}">{html.escape(step.shape)}</text>'
        f'<circle class="{kind}" cx="{START}" cy="{TOP + ROW * (index + 0.5):.1f}" r="2.5"/>'
    )


def _kind(steps: Sequence[JaxprStep], source: int, target: int) -> str:
    if not steps[target].live:
        return "dead"
    return "kept" if is_residual(steps, source, target) else "arc"


def _arc(source: int, target: int, longest: int, kind: str) -> str:
    first, last = (TOP + ROW * (index + 0.5) for index in (source, target))
    # Longer arcs reach further out; the exponent below 1 keeps short arcs distinguishable.
    reach = START + 10 + REACH * ((target - source) / longest) ** 0.6
    return (
        f'<path class="{kind}" d="M{START},{first:.1f}'
        f'C{reach:.1f},{first:.1f} {reach:.1f},{last:.1f} {START},{last:.1f}"/>'
    )
