"""A picture of live ranges: time runs from left to right, with one lane for each buffer and a box for each value."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.report import figure, svg

if TYPE_CHECKING:
    from collections.abc import Mapping

# CSS pixels: the width of a phone's column, of the lanes' names, the height of a lane, and of the line of times.
WIDTH, LEFT, LANE, HEAD = 352, 66, 24, 16


def draw_slots(ranges: Mapping[str, tuple[int, int]], buffers: Mapping[str, int], caption: str) -> str:
    """Return the picture of values in their buffers, as HTML.

    Args:
        ranges: The first and the last time at which each value is needed, inclusive; times count from 1.
        buffers: The number of each value's buffer, from 0.
        caption: A description of the picture, plain text, without a full stop.
    """
    end = max((last for _, last in ranges.values()), default=1)
    count = max(buffers.values(), default=-1) + 1
    step = (WIDTH - LEFT) / end
    parts = [
        f'<text class="soft" x="{LEFT + step * (time - 0.5):.1f}" y="10" text-anchor="middle">t{time}</text>'
        f'<line class="axis" x1="{LEFT + step * time:.1f}" x2="{LEFT + step * time:.1f}" y1="{HEAD}"'
        f' y2="{HEAD + LANE * count}"/>'
        for time in range(1, end + 1)
    ]
    parts += [
        f'<text class="soft" x="0" y="{HEAD + LANE * number + 15}">buffer {number + 1}</text>'
        for number in range(count)
    ]
    for name, (first, last) in ranges.items():
        # Times count from 1, but the first column starts at the left edge.
        x, y = LEFT + step * (first - 1), HEAD + LANE * buffers[name]
        width = step * (last - first + 1)
        label = html.escape(name)
        parts.append(
            f"<g><title>{label}: needed from t{first} to t{last}, in buffer {buffers[name] + 1}</title>"
            f'<rect x="{x + 1:.1f}" y="{y + 3}" width="{width - 2:.1f}" height="{LANE - 6}"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + 15.5:.1f}" text-anchor="middle">{label}</text></g>'
        )
    description = "; ".join(
        f"{name} from t{a} to t{b} in buffer {buffers[name] + 1}" for name, (a, b) in ranges.items()
    )
    picture = svg("".join(parts), f"{caption}: {description}", (WIDTH, HEAD + LANE * count))
    return figure("slots", picture, f"{html.escape(caption)}.")
