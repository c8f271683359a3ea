"""A program as a list with arcs: one row per step, one arc from each result to each step that takes it."""

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
# Where shapes begin, where arcs begin, and how far the controls of the longest reach; a curve goes 3/4 of the way.
SHAPE, START, REACH = 116, 218, 176


def draw_arcs(steps: Sequence[JaxprStep], caption: str) -> str:
    """Return the steps as HTML: names and shapes in order, arcs beside them.

    An arc that leaves its group is drawn strong: its value has to be kept until the later group takes it.
    Steps that no result depends on are drawn faint.

    Args:
        steps: At least one step.
        caption: What is shown, plain text.
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
    """Return the drawing in words: how many steps, and what waits between groups."""
    inputs = sum(step.name == INPUT for step in steps)
    description = f"{plural(inputs, 'input')} and {plural(len(steps) - inputs, 'equation')}"
    dead = sum(not step.live for step in steps if step.name != INPUT)
    if dead:
        description += f", {dead} of them without effect on the results"
    waiting = find_residuals(steps)
    if waiting:
        size = sum(steps[index].bytes for index in waiting)
        description += f"; {plural(len(waiting), 'value')}, {size:,} bytes, taken across groups"
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
    # The longer the arc, the further out it runs; roots keep short ones apart.
    reach = START + 10 + REACH * ((target - source) / longest) ** 0.6
    return (
        f'<path class="{kind}" d="M{START},{first:.1f}'
        f'C{reach:.1f},{first:.1f} {reach:.1f},{last:.1f} {START},{last:.1f}"/>'
    )
