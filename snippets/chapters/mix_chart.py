"""What the instructions of kernels do, kind by kind, as bars in parts: one bar a kernel, each as long as the others."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.report import chart, lane, svg_group, svg_rect, svg_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.machine import Mix

# CSS pixels: the column of a phone, a line of text, a bar, what stands between rows; characters of a line.
WIDTH, LINE, BAR, GAP, CHARACTERS = 352, 14, 12, 10, 57
_TIED = "\N{NO-BREAK SPACE}"
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
        drawn.append(svg_text(0, y + LINE - 4, label))
        drawn.append(svg_text(WIDTH, y + LINE - 4, counted, "soft", anchor="end"))
        y += LINE
        x = 0.0
        parts = [*mix.counts.items(), *([("of a kind not known", sum(mix.unknown.values()))] if mix.unknown else [])]
        for number, (kind, count) in enumerate(parts):
            width = WIDTH * count / (mix.total or 1)
            opacity = f' fill-opacity="{OPACITIES[number % len(OPACITIES)]}"'
            box = svg_rect(x, y + 1, width, BAR, rest=opacity)
            drawn.append(svg_group(f"{label}, {kind}: {count:,} of {counted}", box, kind=lane(target)))
            x += width
        y += BAR + 2
        named = [f"{kind} {count / mix.total:.0%}" for kind, count in parts if count / (mix.total or 1) >= LEAST]
        # A kind stays in one line, with its share.
        for line in wrap(", ".join(words.replace(" ", _TIED) for words in named), CHARACTERS, break_on_hyphens=False):
            drawn.append(svg_text(0, y + LINE - 4, line.replace(_TIED, " "), "soft"))
            y += LINE
        y += GAP
        described.append(f"{label}, {counted}: {', '.join(named)}")
    return chart("bars", drawn, (WIDTH, max(y - GAP, 1)), caption, "; ".join(described))
