"""A picture of the memory plan: program order across, bytes on the vertical axis, one box per value."""

from __future__ import annotations

import html
from itertools import accumulate
from typing import TYPE_CHECKING

from xla_inspect.analysis import ALLOCATION_KINDS, find_peak, parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.report.svg_figure import figure, svg
from xla_inspect.targets import title
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from xla_inspect.analysis import Placement
    from xla_inspect.captured import Capture

WIDTH, HEIGHT, GAP = 360, 200, 3
# The space above the boxes, in which a hovered or focused box shows its full name.
HEAD = 13
# The height of a label's line and the width of a letter in CSS pixels, and the number of letters of the shortest label.
LINE, LETTER, SHORTEST = 11, 5.6, 4


def explain_no_plan(capture: Capture) -> str:
    """Return the reason why a capture has no memory plan to draw, or an empty string if it has one."""
    lacking = [name for name in ("buffers", "live_ranges") if name in capture.missing and not getattr(capture, name)]
    return "; ".join(capture.missing[name] for name in lacking)


def draw_timeline(capture: Capture) -> str:
    """Return the memory plan as HTML: boxes over the values' live ranges, stacked allocations, and the peak.

    A capture without a memory plan gets a sentence with the reason instead.
    """
    if missing := explain_no_plan(capture):
        return f"<p>There is no memory plan to draw: {html.escape(missing)}.</p>"
    assignment, ranges = parse_buffers(capture.buffers), parse_live_ranges(capture.live_ranges)
    # Thread-local memory belongs to computations inside kernels and has no place in the plan of the device's memory.
    allocations = [allocation for allocation in assignment.allocations if allocation.kind != "thread-local"]
    # A program may have only allocations of zero bytes, and the heights are divided by the total.
    total = sum(allocation.size for allocation in allocations) or 1
    # A small allocation keeps a visible height.
    heights = [max(4.0, HEIGHT * allocation.size / total) for allocation in allocations]
    starts = accumulate(heights[:-1], lambda top, height: top + height + GAP, initial=0.0)
    numbers = [allocation.number for allocation in allocations]
    tops = dict(zip(numbers, starts, strict=bool(numbers)))
    scales = {a.number: height / max(a.size, 1) for a, height in zip(allocations, heights, strict=True)}
    step = WIDTH / max(ranges.end, 1)
    bottom = sum(heights) + GAP * len(heights)
    # Values inside a kernel have no live range, so they have no box.
    placements = [row for row in place_buffers(assignment, ranges) if row.allocation in tops and row.start is not None]
    boxes = [_box(row, tops[row.allocation], scales[row.allocation], step, ranges.end) for row in placements]
    position, most = find_peak(placements)
    peak = position * step
    where = title(capture.target)
    label = (
        f"Memory plan on {where}: {len(allocations)} allocations of {total:,} bytes in all, "
        f"over {len(ranges.sequence)} instructions; {most:,} bytes of values are live at the peak"
    )
    kinds = [kind for kind in ALLOCATION_KINDS if any(allocation.kind == kind for allocation in allocations)]
    key = "".join(f'<span class="key {kind}">{kind}</span>' for kind in kinds)
    boxes.append(f'<line class="peak" x1="{peak:.1f}" x2="{peak:.1f}" y1="0" y2="{bottom:.0f}"/>')
    caption = f"{key}{html.escape(label)} (dashed line), where values that share memory are counted once."
    return figure("timeline", svg("".join(boxes), label, (0, -HEAD, WIDTH, round(bottom) + HEAD)), caption)


def _box(placement: Placement, top: float, scale: float, step: float, end: int) -> str:
    # A value that is still live at the end of the program has no end of its own.
    first, last = placement.start or 0, end if placement.end is None else placement.end
    x, y = first * step, top + placement.offset * scale
    width, height = max((last - first) * step - 1, 2), max(placement.size * scale, 3)
    name = html.escape(placement.instruction)
    text, letters = "", int((width - 4) / LETTER)
    if height >= LINE and letters >= SHORTEST:
        label = html.escape(shorten(placement.instruction, letters))
        text = f'<text x="{x + 3:.1f}" y="{y + min(height / 2 + 4, height - 2):.1f}">{label}</text>'
    if not text or len(placement.instruction) > letters:
        text += f'<text class="whole" x="0" y="-4">{name}</text>'
    tooltip = f"{name}: {placement.size:,} bytes, {placement.kind}, positions {first} to {last}"
    return (
        f'<g class="{placement.kind}" tabindex="-1"><title>{tooltip}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>{text}</g>'
    )
