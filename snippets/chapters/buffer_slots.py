"""Live ranges as a picture: time across, one lane for each buffer, a box for each value in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.report import chart, svg_group, svg_line, svg_rect, svg_text

if TYPE_CHECKING:
    from collections.abc import Mapping

# CSS pixels: the column of a phone, the names of the lanes, a lane, and the line of times above.
WIDTH, LEFT, LANE, HEAD = 352, 66, 24, 16


def draw_slots(ranges: Mapping[str, tuple[int, int]], buffers: Mapping[str, int], caption: str) -> str:
    """Return values in their buffers as HTML.

    Args:
        ranges: The first and the last time at which each value is needed, both included; times count from 1.
        buffers: The number of each value's buffer, from 0.
        caption: What is shown, plain text.
    """
    end = max((last for _, last in ranges.values()), default=1)
    count = max(buffers.values(), default=-1) + 1
    step = (WIDTH - LEFT) / end
    parts = [
        svg_text(LEFT + step * (time - 0.5), 10, f"t{time}", "soft", anchor="middle")
        + svg_line((LEFT + step * time, HEAD), (LEFT + step * time, HEAD + LANE * count), "axis")
        for time in range(1, end + 1)
    ]
    parts += [svg_text(0, HEAD + LANE * number + 15, f"buffer {number + 1}", "soft") for number in range(count)]
    for name, (first, last) in ranges.items():
        x, y = LEFT + step * (first - 1), HEAD + LANE * buffers[name]
        width = step * (last - first + 1)
        parts.append(
            svg_group(
                f"{name}: needed from t{first} to t{last}, in buffer {buffers[name] + 1}",
                svg_rect(x + 1, y + 3, width - 2, LANE - 6),
                svg_text(x + width / 2, y + 15.5, name, anchor="middle"),
            )
        )
    description = "; ".join(f"{name} t{a} to t{b} in buffer {buffers[name] + 1}" for name, (a, b) in ranges.items())
    return chart("slots", parts, (WIDTH, HEAD + LANE * count), caption, description)
