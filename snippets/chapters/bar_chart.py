"""Horizontal bar charts of numbers by program and target."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_kernels
from xla_inspect.report import figure, format_bytes, lane, short, svg, title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture, Captures

# CSS pixels: the column of a phone, the room for a target's name and for the number after the bar.
WIDTH, LEFT, RIGHT, LINE, BAR, GAP = 352, 66, 80, 14, 10, 8
BYTES = "bytes"


def chart_bars(rows: Mapping[str, Mapping[str, int | None]], caption: str, unit: str) -> str:
    """Return a bar chart as HTML, with one scale that starts at zero.

    Args:
        rows: For each program or variant, the number by target; None is shown as "not compiled here".
        caption: A description of the bars, plain text, without a full stop.
        unit: The plural noun that the numbers count, such as `kernels`; `bytes` are shown in KiB and MiB.
    """
    # If every number is 0 or missing, a scale of 1 avoids a division by zero.
    most = max((number or 0 for row in rows.values() for number in row.values()), default=0) or 1
    marks, y = [], 0
    for label, row in rows.items():
        marks.append(f'<text x="0" y="{y + LINE - 4}">{html.escape(label)}</text>')
        y += LINE
        for target, number in row.items():
            width = (WIDTH - LEFT - RIGHT) * (number or 0) / most
            tooltip = f"{label}, {title(target)}: {_say(number, unit)}"
            marks.append(f'<g class="{lane(target)}"><title>{html.escape(tooltip)}</title>')
            marks.append(f'<text class="soft" x="8" y="{y + LINE - 4}">{html.escape(short(target))}</text>')
            # A number above 0 gets at least one pixel, so that its bar differs from that of 0.
            if number:
                marks.append(f'<rect x="{LEFT}" y="{y + 2}" width="{max(width, 1):.1f}" height="{BAR}"/>')
            amount = html.escape(_say(number, unit))
            marks.append(f'<text x="{LEFT + width + 5:.1f}" y="{y + LINE - 4}">{amount}</text></g>')
            y += LINE
        y += GAP
    # Screen readers do not see the bars, so the picture's label repeats all numbers.
    description = "; ".join(
        f"{label}: " + ", ".join(f"{title(target)} {_say(number, unit)}" for target, number in row.items())
        for label, row in rows.items()
    )
    # A caption such as "Kernels by target" already contains the unit, which would otherwise appear twice.
    heading = caption if unit.lower() in caption.lower() else f"{caption} ({unit})"
    picture = svg("".join(marks), f"{heading}. {description}", (WIDTH, max(y - GAP, 1)))
    return figure("bars", picture, f"{html.escape(heading)}.")


def chart_kernels(programs: Mapping[str, Captures]) -> str:
    """Return a bar chart of the kernels that each target launches for each program."""
    return chart_bars(_count(programs, lambda capture: len(list_kernels(capture))), "Kernels by target", "kernels")


def chart_traffic(programs: Mapping[str, Captures]) -> str:
    """Return a bar chart of the bytes that each program reads and writes, according to XLA's cost model."""
    traffic = _count(programs, lambda capture: int(capture.cost.bytes_accessed))
    return chart_bars(traffic, "Bytes read and written, according to XLA's cost model", BYTES)


def _count(programs: Mapping[str, Captures], count: Callable[[Capture], int]) -> dict[str, dict[str, int | None]]:
    return {
        label: {target: count(captures[target]) if target in captures else None for target in captures.targets}
        for label, captures in programs.items()
    }


def _say(number: int | None, unit: str) -> str:
    if number is None:
        return "not compiled here"
    return format_bytes(number) if unit == BYTES else f"{number:,}"
