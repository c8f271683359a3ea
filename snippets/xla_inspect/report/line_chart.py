"""Line charts: instructions after each pass, a number for each release, bytes for each number of devices."""

from __future__ import annotations

import html
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.report.svg_figure import figure, svg
from xla_inspect.targets import lane, short, title
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Captures

# CSS pixels: the column of a phone, a line of text and a letter of it.
WIDTH, LINE, LETTER = 352, 12, 6
# Degrees by which names are rotated if they are too long to fit side by side.
TURN = 60
# The largest number of labeled powers of two on a scale.
POWERS = 8


@dataclass(frozen=True)
class _Area:
    """The area of the lines, in CSS pixels: numbers are to the left of it, names to the right."""

    left: int
    right: int
    top: int
    bottom: int

    def across(self, part: float) -> float:
        return self.left + (self.right - self.left) * part

    def up(self, part: float) -> float:
        return self.bottom - (self.bottom - self.top) * part

    def draw_rule(self, part: float, text: str = "") -> str:
        """Return a horizontal rule with its value on the left as SVG."""
        y = self.up(part)
        label = f'<text class="soft" x="{self.left - 5}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>'
        return f'<line class="axis" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>{text and label}'

    def draw_scale(self, top: int) -> str:
        """Return rules at zero, at the middle and at the top as SVG, with their values on a scale from 0 to `top`."""
        return "".join(self.draw_rule(number / top, f"{number:,}") for number in dict.fromkeys((0, top // 2, top)))


@dataclass(frozen=True)
class _Line:
    """A line of a chart: its class, the name at its end, its tooltip, its path and its dots."""

    kind: str
    name: str
    tooltip: str
    path: str
    dots: Sequence[tuple[float, float]]

    def draw(self, x: float, y: float) -> str:
        """Return the line as SVG, with its name at the place (x, y) next to its end."""
        dots = "".join(f'<circle cx="{round(x, 1)}" cy="{y:.1f}" r="2.5"/>' for x, y in self.dots)
        return (
            f'<g class="{self.kind}"><title>{html.escape(self.tooltip)}</title><path d="M{self.path}"/>{dots}'
            f'<text x="{round(x, 1)}" y="{y + 3.5:.1f}">{html.escape(self.name)}</text></g>'
        )


def _draw_lines(lines: Sequence[_Line], area: _Area, gap: int) -> str:
    """Return lines and their names as SVG, the names moved so that none covers another or is below the area."""
    preferred = [line.dots[-1][1] for line in lines]
    heights, last = dict.fromkeys(range(len(lines)), 0.0), -math.inf
    for number in sorted(heights, key=preferred.__getitem__):
        heights[number] = last = max(preferred[number], last + LINE)
    # If the lowest name is below the area, all names move up by the same distance.
    over = max(last - area.bottom, 0.0)
    return "".join(line.draw(line.dots[-1][0] + gap, heights[number] - over) for number, line in enumerate(lines))


def _join(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _draw_name(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """Return a name below the area as SVG."""
    anchor_attribute = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="soft" x="{round(x, 1)}" y="{y}"{anchor_attribute}>{html.escape(text)}</text>'


def _draw_names(across: Sequence[float], y: float, names: Sequence[str]) -> tuple[str, float]:
    """Return names below the area as SVG, rotated if they would overlap, and the extra height that they need."""
    longest = max(map(len, names)) * LETTER
    if all(after - before > longest for before, after in itertools.pairwise(across)):
        return "".join(_draw_name(x, y, name) for x, name in zip(across, names, strict=True)), 0
    rotated_names = "".join(
        f'<g transform="rotate(-{TURN} {x:.1f} {y - 4:.1f})">{_draw_name(x + 3, y - 4, name, "end")}</g>'
        for x, name in zip(across, names, strict=True)
    )
    return rotated_names, longest * math.sin(math.radians(TURN)) - LINE / 2


def chart_instructions(captures: Captures) -> str:
    """Draw a chart as HTML: instructions on the vertical axis, the changes of each target's pipeline across.

    Every line starts at the left with the module that the compiler received and ends at the right with the optimized
    module, whatever the number of passes in between. A target that could not be compiled is listed without a line.
    """
    area, height = _Area(left=34, right=WIDTH - 88, top=10, bottom=148), 170
    counts_of = {target: capture.instruction_counts for target, capture in captures.items()}
    top = max((max(counts) for counts in counts_of.values()), default=1)
    lines = []
    for target, counts in counts_of.items():
        y = [area.up(count / top) for count in counts]
        steps = (
            # A pass changes the count at once, so the line has steps and no slopes.
            f"H{area.across(number / (len(y) - 1)):.1f}V{place:.1f}"
            for number, place in enumerate(y[1:], start=1)
        )
        tooltip = f"{title(target)}: {len(counts) - 1} changes, from {counts[0]:,} to {counts[-1]:,} instructions"
        path = f"{area.left} {y[0]:.1f}{''.join(steps)}"
        lines.append(_Line(lane(target), f"{short(target)} {counts[-1]:,}", tooltip, path, [(area.right, y[-1])]))
    ranges = [f"{title(target)} from {counts[0]:,} to {counts[-1]:,}" for target, counts in counts_of.items()]
    ranges += [f"{title(target)} not compiled here" for target in captures.targets if target not in captures]
    label = f"Instructions in the module after each pass that changed it: {', '.join(ranges)}"
    below = _draw_name(area.left, height - 2, "as imported", "start")
    below += _draw_name(area.right, height - 2, "optimized", "end")
    shapes = area.draw_scale(top) + _draw_lines(lines, area, 7) + below
    return figure("counts", svg(shapes, label, (WIDTH, height)), f"{html.escape(label)}.")


def chart_releases(series: Mapping[str, Sequence[int | None]], releases: Sequence[str], caption: str) -> str:
    """Draw a chart as HTML: a number from zero on the vertical axis, the releases across, a line for each target.

    Args:
        series: For each target its number for each release, or None if a release has no number.
        releases: The releases, the oldest first.
        caption: The caption of the chart, plain text.
    """
    area, inset, height = _Area(left=40, right=WIDTH - 96, top=8, bottom=166), 12, 190
    inner = _Area(area.left + inset, area.right - inset, area.top, area.bottom)
    # A series of zeros still needs a scale, because the heights are divided by its top.
    top = max((number for numbers in series.values() for number in numbers if number is not None), default=0) or 1
    across = [inner.across(place / max(len(releases) - 1, 1)) for place in range(len(releases))]
    lines, descriptions = [], []
    for target, numbers in series.items():
        pairs = zip(releases, numbers, strict=True)
        amounts = ", ".join(f"{name} {'none' if number is None else f'{number:,}'}" for name, number in pairs)
        descriptions.append(f"{title(target)}: {amounts}")
        values = [(x, number) for x, number in zip(across, numbers, strict=True) if number is not None]
        if values:
            points = [(x, area.up(number / top)) for x, number in values]
            name = f"{short(target)} {values[-1][1]:,}"
            lines.append(_Line(lane(target), name, descriptions[-1], _join(points), points))
    lines.sort(key=lambda line: line.dots[-1][1])
    below, more = _draw_names(across, height - 8, releases)
    shapes = area.draw_scale(top) + below + _draw_lines(lines, area, 8)
    size = (WIDTH, height + math.ceil(more))
    return figure("counts", svg(shapes, f"{caption}. {'; '.join(descriptions)}", size), f"{html.escape(caption)}.")


def chart_growth(series: Mapping[str, Mapping[int, int]], caption: str, across: str) -> str:
    """Draw lines as HTML on two logarithmic scales: bytes on the vertical axis, numbers of devices across.

    Args:
        series: For each line by its name, the number of bytes (at least 1) for each number of devices.
        caption: The caption of the chart, plain text.
        across: The unit of the horizontal axis, such as `chips`.
    """
    area, height = _Area(left=52, right=WIDTH - 96, top=8, bottom=180), 210
    devices = sorted({count for points in series.values() for count in points})
    numbers = [number for points in series.values() for number in points.values()]
    low = math.floor(math.log2(min(numbers)))
    # Equal numbers that are a power of two would give a scale of length zero.
    high = max(math.ceil(math.log2(max(numbers))), low + 1)
    width = max(math.log2(devices[-1] / devices[0]), 1)
    x = {count: area.across(math.log2(count / devices[0]) / width) for count in devices}
    every = math.ceil((high - low) / POWERS)
    rules = "".join(
        area.draw_rule((power - low) / (high - low), "" if (power - low) % every else format_bytes(2**power))
        for power in range(low, high + 1)
    )
    lines = []
    for number, (name, points) in enumerate(series.items()):
        places = [
            (x[count], area.up((math.log2(amount) - low) / (high - low))) for count, amount in sorted(points.items())
        ]
        amounts = ", ".join(f"{count}: {amount:,} bytes" for count, amount in sorted(points.items()))
        lines.append(_Line(f"s{number}", name, f"{name}, {amounts}", _join(places), places))
    lines.sort(key=lambda line: line.dots[-1][1])
    below = "".join(_draw_name(x[count], area.bottom + 14, str(count)) for count in devices)
    below += _draw_name((area.left + area.right) / 2, height - 3, across)
    description = "; ".join(
        f"{name}: " + ", ".join(f"{format_bytes(amount)} on {count}" for count, amount in sorted(points.items()))
        for name, points in series.items()
    )
    shapes = rules + below + _draw_lines(lines, area, 8)
    return figure("growth", svg(shapes, f"{caption}. {description}", (WIDTH, height)), f"{html.escape(caption)}.")


def sparkline(values: Sequence[int], label: str, *, width: int = 120, height: int = 32) -> str:
    """Draw `values` in their order as a small line, as inline SVG.

    Args:
        values: At least one count.
        label: A description of the line for screen readers.
        width: Width in CSS pixels.
        height: Height in CSS pixels.
    """
    top, step = max(*values, 1), (width - 4) / max(len(values) - 1, 1)
    points = [(2 + step * i, height - 2 - (height - 4) * value / top) for i, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    shapes = (
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor"/>'
    )
    return svg(shapes, label, (width, height), kind="sparkline")
