"""Charts of lines: instructions after each pass, a number under each release, bytes over a number of devices."""

from __future__ import annotations

import html
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.report.figure import figure, svg
from xla_inspect.targets import lane, short, title
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Captures

# CSS pixels: the column of a phone, a line of text and a letter of it.
WIDTH, LINE, LETTER = 352, 12, 6
# Degrees by which names that are too long to stand side by side are turned.
TURN = 60
# How many powers of two may be named on a scale.
POWERS = 8


@dataclass(frozen=True)
class _Area:
    """Where lines are drawn, in CSS pixels: numbers stand on the left of it, names on the right."""

    left: int
    right: int
    top: int
    bottom: int

    def across(self, part: float) -> float:
        return self.left + (self.right - self.left) * part

    def up(self, part: float) -> float:
        return self.bottom - (self.bottom - self.top) * part

    def draw_rule(self, part: float, text: str = "") -> str:
        """A line across, with what it stands for on its left."""
        y = self.up(part)
        named = f'<text class="soft" x="{self.left - 5}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>'
        return f'<line class="axis" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>{text and named}'

    def draw_scale(self, top: int) -> str:
        """Rules at zero, at the middle and at the top."""
        return "".join(self.draw_rule(number / top, f"{number:,}") for number in dict.fromkeys((0, top // 2, top)))


@dataclass(frozen=True)
class _Line:
    """A line of a chart: its class, the name at its end, what is told of it, its path and the dots on it."""

    kind: str
    name: str
    told: str
    path: str
    dots: Sequence[tuple[float, float]]

    def draw(self, x: float, y: float) -> str:
        """The line, and its name at a place beside its end."""
        dots = "".join(f'<circle cx="{round(x, 1)}" cy="{y:.1f}" r="2.5"/>' for x, y in self.dots)
        return (
            f'<g class="{self.kind}"><title>{html.escape(self.told)}</title><path d="M{self.path}"/>{dots}'
            f'<text x="{round(x, 1)}" y="{y + 3.5:.1f}">{html.escape(self.name)}</text></g>'
        )


def _draw_lines(lines: Sequence[_Line], area: _Area, gap: int) -> str:
    """Draw lines, and their names where no name covers another or lies below the area."""
    preferred = [line.dots[-1][1] for line in lines]
    placed, last = dict.fromkeys(range(len(lines)), 0.0), -math.inf
    for number in sorted(placed, key=preferred.__getitem__):
        placed[number] = last = max(preferred[number], last + LINE)
    over = max(last - area.bottom, 0.0)
    return "".join(line.draw(line.dots[-1][0] + gap, placed[number] - over) for number, line in enumerate(lines))


def _join(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _draw_name(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """What stands below the area."""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="soft" x="{round(x, 1)}" y="{y}"{placed}>{html.escape(text)}</text>'


def _draw_names(across: Sequence[float], y: float, names: Sequence[str]) -> tuple[str, float]:
    """Names below the area, turned where they would cover each other; and how much more height they take so."""
    longest = max(map(len, names)) * LETTER
    if all(after - before > longest for before, after in itertools.pairwise(across)):
        return "".join(_draw_name(x, y, name) for x, name in zip(across, names, strict=True)), 0
    drawn = "".join(
        f'<g transform="rotate(-{TURN} {x:.1f} {y - 4:.1f})">{_draw_name(x + 3, y - 4, name, "end")}</g>'
        for x, name in zip(across, names, strict=True)
    )
    return drawn, longest * math.sin(math.radians(TURN)) - LINE / 2


def chart_instructions(captures: Captures) -> str:
    """Return a chart as HTML: instructions up, the changes of each target's pipeline across.

    Every line starts at the left with the module as the compiler got it and ends at the right with the optimized one,
    however many passes changed it between. A target that could not be compiled is named and has no line.
    """
    area, height = _Area(left=34, right=WIDTH - 88, top=10, bottom=148), 170
    counted = {target: capture.instruction_counts for target, capture in captures.items()}
    top = max((max(counts) for counts in counted.values()), default=1)
    lines = []
    for target, counts in counted.items():
        y = [area.up(count / top) for count in counts]
        steps = (
            f"H{area.across(number / (len(y) - 1)):.1f}V{place:.1f}" for number, place in enumerate(y[1:], start=1)
        )
        tooltip = f"{title(target)}: {len(counts) - 1} changes, from {counts[0]:,} to {counts[-1]:,} instructions"
        path = f"{area.left} {y[0]:.1f}{''.join(steps)}"
        lines.append(_Line(lane(target), f"{short(target)} {counts[-1]:,}", tooltip, path, [(area.right, y[-1])]))
    ranges = [f"{title(target)} from {counts[0]:,} to {counts[-1]:,}" for target, counts in counted.items()]
    ranges += [f"{title(target)} not compiled here" for target in captures.targets if target not in captures]
    label = f"Instructions in the module after each pass that changed it: {', '.join(ranges)}"
    below = _draw_name(area.left, height - 2, "as imported", "start")
    below += _draw_name(area.right, height - 2, "optimized", "end")
    drawn = area.draw_scale(top) + _draw_lines(lines, area, 7) + below
    return figure("counts", svg(drawn, label, (WIDTH, height)), f"{html.escape(label)}.")


def chart_releases(series: Mapping[str, Sequence[int | None]], releases: Sequence[str], caption: str) -> str:
    """Return a chart as HTML: a number up, from zero, the releases across, a line for each target.

    Args:
        series: Target to its number under each release, None where there is none.
        releases: The releases, the oldest first.
        caption: What the lines show, plain text.
    """
    area, inset, height = _Area(left=40, right=WIDTH - 96, top=8, bottom=166), 12, 190
    inner = _Area(area.left + inset, area.right - inset, area.top, area.bottom)
    top = max((number for numbers in series.values() for number in numbers if number is not None), default=0) or 1
    across = [inner.across(place / max(len(releases) - 1, 1)) for place in range(len(releases))]
    lines, descriptions = [], []
    for target, numbers in series.items():
        pairs = zip(releases, numbers, strict=True)
        amounts = ", ".join(f"{name} {'none' if number is None else f'{number:,}'}" for name, number in pairs)
        descriptions.append(f"{title(target)}: {amounts}")
        known = [(x, number) for x, number in zip(across, numbers, strict=True) if number is not None]
        if known:
            points = [(x, area.up(number / top)) for x, number in known]
            name = f"{short(target)} {known[-1][1]:,}"
            lines.append(_Line(lane(target), name, descriptions[-1], _join(points), points))
    lines.sort(key=lambda line: line.dots[-1][1])
    below, more = _draw_names(across, height - 8, releases)
    drawn = area.draw_scale(top) + below + _draw_lines(lines, area, 8)
    size = (WIDTH, height + math.ceil(more))
    return figure("counts", svg(drawn, f"{caption}. {'; '.join(descriptions)}", size), f"{html.escape(caption)}.")


def chart_growth(series: Mapping[str, Mapping[int, int]], caption: str, across: str) -> str:
    """Return lines as HTML, both scales logarithmic: each step across doubles the devices, each line up the bytes.

    Args:
        series: The name of a line, to number of devices, to bytes (at least 1).
        caption: What the lines show, plain text.
        across: What is counted across, such as `chips`.
    """
    area, height = _Area(left=52, right=WIDTH - 96, top=8, bottom=180), 210
    devices = sorted({count for points in series.values() for count in points})
    numbers = [number for points in series.values() for number in points.values()]
    low = math.floor(math.log2(min(numbers)))
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
    drawn = rules + below + _draw_lines(lines, area, 8)
    return figure("growth", svg(drawn, f"{caption}. {description}", (WIDTH, height)), f"{html.escape(caption)}.")


def sparkline(values: Sequence[int], label: str, *, width: int = 120, height: int = 32) -> str:
    """Return a line of `values` over their order, as inline SVG.

    Args:
        values: At least one count.
        label: What the line shows, for those who cannot see it.
        width: Width in CSS pixels.
        height: Height in CSS pixels.
    """
    top, step = max(*values, 1), (width - 4) / max(len(values) - 1, 1)
    points = [(2 + step * i, height - 2 - (height - 4) * value / top) for i, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    drawn = (
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor"/>'
    )
    return svg(drawn, label, (width, height), kind="sparkline")
