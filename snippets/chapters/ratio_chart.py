"""A chart of ratios on a logarithmic scale: a dot for the median, a line between the quartiles, and a rule at 1."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from xla_inspect.report import figure, svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# CSS pixels: the width of a phone's column, of a name and of the number after it, the heights of a line and a gap.
WIDTH, LEFT, RIGHT, LINE, GAP = 352, 140, 48, 15, 10


def chart_ratios(
    rows: Mapping[str, Mapping[str, Sequence[float]]], caption: str, *, spread: str = "half of the rounds"
) -> str:
    """Return a chart of ratios as HTML, in the order of their medians for each program.

    Args:
        rows: By program and by compiler, the lower quartile, the median and the upper quartile, all above zero.
        caption: A description of the chart, plain text, without a full stop.
        spread: The meaning of the first and the last number of a row, as in `half of the rounds`.
    """
    # On a logarithmic scale, twice the time and half the time are equally far from 1.
    numbers = [math.log2(number) for row in rows.values() for three in row.values() for number in three]
    # The scale always includes the rule at 1, whose logarithm is 0.
    least, most = math.floor(min(0, *numbers)), math.ceil(max(0, *numbers))

    def place(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(ratio) - least) / ((most - least) or 1)

    marks, y = [], LINE
    for label, row in rows.items():
        marks.append(f'<text x="0" y="{y - 4}">{html.escape(label)}</text>')
        for name, (low, middle, high) in sorted(row.items(), key=lambda item: item[1][1]):
            tooltip = f"{label}, {name}: {_say(middle)} ({spread} from {_say(low)} to {_say(high)})"
            at = y + LINE / 2
            marks.append(
                f"<g><title>{html.escape(tooltip)}</title>"
                f'<text class="soft" x="8" y="{y + LINE - 4}">{html.escape(name)}</text>'
                f'<path d="M{place(low):.1f} {at}H{place(high):.1f}"/>'
                f'<circle cx="{place(middle):.1f}" cy="{at}" r="3.5"/>'
                f'<text x="{WIDTH - RIGHT + 8}" y="{y + LINE - 4}">{_say(middle)}</text></g>'
            )
            y += LINE
        y += LINE + GAP
    height = y - LINE - GAP
    description = "; ".join(
        f"{label}: " + ", ".join(f"{name} {_say(three[1])}" for name, three in row.items())
        for label, row in rows.items()
    )
    rule = f'<path class="rule" d="M{place(1):.1f} 0V{height}"/>'
    picture = svg(rule + "".join(marks), f"{caption}. {description}", (WIDTH, height))
    return figure("ratios", picture, f"{html.escape(caption)}.")


def _say(ratio: float) -> str:
    """Return a ratio rounded to two digits."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"  # noqa: PLR2004 - digits
