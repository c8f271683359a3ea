"""What the instructions of kernels do, kind by kind, as bars in parts: one bar a kernel, each as long as the others."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.report import figure, lane, svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.machine import Mix

# CSS pixels: the column of a phone, a line of text, a bar, what stands between rows; characters of a line.
WIDTH, LINE, BAR, GAP, CHARACTERS = 352, 14, 12, 10, 57
LEAST = 0.03
"""Share of instructions that a kind must have to be named under its bar."""

OPACITIES = (1.0, 0.62, 0.34, 0.8, 0.48, 0.2)
"""How dark the parts of a bar are, one after the other, so that neighbours differ."""


def chart_mixes(rows: Mapping[str, Mix], target: str, caption: str) -> str:
    """Return a bar for each kernel as HTML, its kinds of instructions with the most first, named under it.

    Args:
        rows: What a kernel is called, to its instructions by kind.
        target: The target that it is for, whose colour the bars have.
        caption: What the bars show, plain text.
    """
    drawn, y, described = [], 0, []
    for label, mix in rows.items():
        counted = plural(mix.total, "instruction")
        drawn.append(f'<text x="0" y="{y + LINE - 4}">{html.escape(label)}</text>')
        drawn.append(f'<text class="soft" x="{WIDTH}" y="{y + LINE - 4}" text-anchor="end">{counted}</text>')
        y += LINE
        x = 0.0
        parts = [*mix.counts.items(), *([("of a kind not known", sum(mix.unknown.values()))] if mix.unknown else [])]
        for number, (kind, count) in enumerate(parts):
            width = WIDTH * count / (mix.total or 1)
            opacity = OPACITIES[number % len(OPACITIES)]
            tooltip = html.escape(f"{label}, {kind}: {count:,} of {counted}")
            box = f'x="{x:.1f}" y="{y + 1}" width="{width:.1f}" height="{BAR}" fill-opacity="{opacity}"'
            drawn.append(f'<g class="{lane(target)}"><title>{tooltip}</title><rect {box}/></g>')
            x += width
        y += BAR + 2
        named = [f"{kind} {count / mix.total:.0%}" for kind, count in parts if count / (mix.total or 1) >= LEAST]
        for line in _fold(named):
            drawn.append(f'<text class="soft" x="0" y="{y + LINE - 4}">{html.escape(line)}</text>')
            y += LINE
        y += GAP
        described.append(f"{label}, {counted}: {', '.join(named)}")
    picture = svg("".join(drawn), f"{caption}. {'; '.join(described)}", (WIDTH, max(y - GAP, 1)))
    return figure("bars", picture, f"{html.escape(caption)}.")


def _fold(words: list[str]) -> list[str]:
    """Return words joined by commas in lines that are short enough."""
    lines: list[str] = []
    for number, word in enumerate(words):
        text = word + ("," if number + 1 < len(words) else "")
        if lines and len(lines[-1]) + len(text) < CHARACTERS:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines
