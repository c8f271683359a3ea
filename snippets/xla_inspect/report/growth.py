"""Bytes over a growing number of devices, a line for each way to share the work."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from xla_inspect.report.quantity import size

if TYPE_CHECKING:
    from collections.abc import Mapping

# CSS pixels: the column of a phone, the room for the scale on the left and for a line's name on the right.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, LINE = 352, 210, 52, 96, 8, 30, 12


def chart(series: Mapping[str, Mapping[int, int]], caption: str, across: str) -> str:
    """Return lines as HTML, both scales logarithmic: each step across doubles the devices, each line up the bytes.

    Args:
        series: The name of a line, to number of devices, to bytes (at least 1).
        caption: What the lines show, plain text.
        across: What is counted across, such as `chips`.
    """
    devices = sorted({count for points in series.values() for count in points})
    numbers = [number for points in series.values() for number in points.values()]
    low = math.floor(math.log2(min(numbers)))
    high = max(math.ceil(math.log2(max(numbers))), low + 1)
    left, right = math.log2(devices[0]), math.log2(devices[-1])

    def x(count: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(count) - left) / max(right - left, 1)

    def y(number: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (math.log2(number) - low) / (high - low)

    drawn = []
    for power in range(low, high + 1):
        drawn.append(
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(2**power):.1f}" y2="{y(2**power):.1f}"/>'
        )
        if (power - low) % math.ceil((high - low) / 8) == 0:
            place = f'x="{LEFT - 5}" y="{y(2**power) + 3.5:.1f}"'
            drawn.append(f'<text class="soft" {place} text-anchor="end">{size(2**power)}</text>')
    drawn += [
        f'<text class="soft" x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{count}</text>'
        for count in devices
    ]
    drawn.append(
        f'<text class="soft" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 3}" text-anchor="middle">'
        f"{html.escape(across)}</text>"
    )
    last = -math.inf
    for name, points in sorted(series.items(), key=lambda item: y(item[1][max(item[1])])):
        end = max(points)
        last = max(last + LINE, y(points[end]) + 3.5)
        path = "M" + "L".join(f"{x(count):.1f} {y(points[count]):.1f}" for count in sorted(points))
        dots = "".join(
            f'<circle cx="{x(count):.1f}" cy="{y(number):.1f}" r="2.5"/>' for count, number in points.items()
        )
        said = ", ".join(f"{count}: {number:,} bytes" for count, number in sorted(points.items()))
        drawn.append(
            f'<g class="s{list(series).index(name)}"><title>{html.escape(f"{name}, {said}")}</title>'
            f'<path d="{path}"/>{dots}<text x="{WIDTH - RIGHT + 8}" y="{last:.1f}">{html.escape(name)}</text></g>'
        )
    said = "; ".join(
        f"{name}: " + ", ".join(f"{size(number)} on {count}" for count, number in sorted(points.items()))
        for name, points in series.items()
    )
    return (
        f'<figure class="growth" markdown="0"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{html.escape(f"{caption}. {said}")}">{"".join(drawn)}</svg>'
        f"<figcaption>{html.escape(caption)}.</figcaption></figure>\n"
    )
