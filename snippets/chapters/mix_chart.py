"""Stacked bars of the kinds of instructions in kernels: one bar of full width for each kernel."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.report import figure, lane, svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.machine import Mix

# CSS pixels: the width of a phone's column, the heights of a line, a bar and a gap; then the characters of a line.
WIDTH, LINE, BAR, GAP, CHARACTERS = 352, 14, 12, 10, 57
LEAST = 0.03
"""The minimum share of instructions of a kind that is listed under its bar."""

OPACITIES = (1.0, 0.62, 0.34, 0.8, 0.48, 0.2)
"""The opacities of the parts of a bar in order, chosen so that adjacent parts differ."""


def chart_mixes(rows: Mapping[str, Mix], target: str, caption: str) -> str:
    """Return a bar for each kernel as HTML, with its kinds of instructions, the most frequent first, listed under it.

    Args:
        rows: The instructions of each kernel by kind, by the kernel's name.
        target: The target, which gives the colour of the bars.
        caption: A description of the chart, plain text, without a full stop.
    """
    marks, y, described = [], 0, []
    for label, mix in rows.items():
        total = plural(mix.total, "instruction")
        marks.append(f'<text x="0" y="{y + LINE - 4}">{html.escape(label)}</text>')
        marks.append(f'<text class="soft" x="{WIDTH}" y="{y + LINE - 4}" text-anchor="end">{total}</text>')
        y += LINE
        x = 0.0
        # Without the unknown instructions, the parts of a bar would not add up to its full width.
        parts = [*mix.counts.items(), *([("of unknown kind", sum(mix.unknown.values()))] if mix.unknown else [])]
        for number, (kind, count) in enumerate(parts):
            width = WIDTH * count / (mix.total or 1)
            opacity = OPACITIES[number % len(OPACITIES)]
            tooltip = html.escape(f"{label}, {kind}: {count:,} of {total}")
            box = f'x="{x:.1f}" y="{y + 1}" width="{width:.1f}" height="{BAR}" fill-opacity="{opacity}"'
            marks.append(f'<g class="{lane(target)}"><title>{tooltip}</title><rect {box}/></g>')
            x += width
        y += BAR + 2
        # Rare kinds would lengthen the list below the bar, and their tooltips give the numbers.
        shares = [f"{kind} {count / mix.total:.0%}" for kind, count in parts if count / (mix.total or 1) >= LEAST]
        for line in _fold(shares):
            marks.append(f'<text class="soft" x="0" y="{y + LINE - 4}">{html.escape(line)}</text>')
            y += LINE
        y += GAP
        described.append(f"{label}, {total}: {', '.join(shares)}")
    picture = svg("".join(marks), f"{caption}. {'; '.join(described)}", (WIDTH, max(y - GAP, 1)))
    return figure("bars", picture, f"{html.escape(caption)}.")


def _fold(words: list[str]) -> list[str]:
    """Return words joined by commas, wrapped into lines that fit the chart."""
    lines: list[str] = []
    for number, word in enumerate(words):
        # The comma belongs to the word before it, so that no line starts with a comma.
        text = word + ("," if number + 1 < len(words) else "")
        if lines and len(lines[-1]) + len(text) < CHARACTERS:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines
