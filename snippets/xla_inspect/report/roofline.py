"""The roofline of a program as SVG: operations per second over operations per byte, one dot for each launch."""

from __future__ import annotations

import html
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, model_launches
from xla_inspect.plural import plural
from xla_inspect.report.svg_figure import figure, svg
from xla_inspect.targets import explain_absence, find_hardware, lane, title
from xla_inspect.units import format_amount, format_bytes, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xla_inspect.analysis import Launched
    from xla_inspect.captured import Capture
    from xla_inspect.targets import Hardware, Roof

# CSS pixels: the column of a phone, and the space around the drawing for its numbers.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 352, 250, 48, 6, 28, 32
LINE = 12
TICKS = 6
FEW = 8
"""The largest number of launches whose list below the drawing is not folded."""


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of whole decades, and its pixels.

    Attributes:
        low: The power of ten at the start of the axis.
        high: The power of ten at the end of the axis.
        start: The pixel at the start of the axis.
        end: The pixel at the end of the axis.
    """

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, numbers: Iterable[float], start: float, end: float) -> Scale:
        """Return the smallest scale of whole decades that contains all numbers."""
        powers = [math.log10(number) for number in numbers]
        low = math.floor(min(powers))
        # Equal numbers that are a power of ten would give a scale of length zero, by which `place` would divide.
        return cls(low, max(math.ceil(max(powers)), low + 1), start, end)

    def place(self, number: float) -> float:
        """Return the pixel of a number."""
        share = (math.log10(number) - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> range:
        """Return the powers of ten to mark, at most seven."""
        return range(self.high, self.low - 1, -math.ceil((self.high - self.low) / TICKS))


def draw_roofline(capture: Capture) -> str:
    """Draw the roofline of a program on its target as HTML, with a list of its launches.

    The dot of a launch is at the best speed that its operations, its bytes and the published peaks allow in the model
    of `model_launches`. Launches at the same place share one dot. A launch without traffic to main memory or without
    counted operations has no dot.

    Args:
        capture: The capture. For a CPU, a sentence that explains why there is no roofline is returned.
    """
    # A CPU target stands for any processor with its instruction set, so there are no peak rates to draw.
    hardware = find_hardware(capture.target)
    if hardware is None:
        return f'<p class="roofless">{html.escape(explain_absence(capture.target))}</p>\n'
    launches = model_launches(capture)
    dots = [launched for launched in launches if launched.intensity and launched.bound and launched.bound.seconds]
    summary = f"Roofline of {capture.program} on {title(capture.target)}. {STATEMENT} {hardware.gap}".strip()
    source = f'<a href="{html.escape(hardware.source)}">Peaks of one device</a>.'
    picture = _picture(dots, hardware, capture.target) if dots else ""
    return figure("roofline", picture + _list(dots, launches), f"{html.escape(summary)} {source}")


def _picture(dots: Sequence[Launched], hardware: Hardware, target: str) -> str:
    roofs = {roof.name: roof for launched in dots if launched.bound for roof in launched.bound.roofs}
    tops = [roof.rate for roof in roofs.values()]
    across = Scale.over(
        [*(_intensity(launched) for launched in dots), *(rate / hardware.bandwidth for rate in tops)],
        LEFT,
        WIDTH - RIGHT,
    )
    start = 10.0**across.low
    up = Scale.over([*map(_rate, dots), *tops, hardware.bandwidth * start], HEIGHT - BOTTOM, TOP)
    lines = [*_axes(across, up), *_dots(dots, across, up), *_roofs(list(roofs.values()), hardware, across, up)]
    names = ", ".join(f"{roof.name} {format_amount(roof.rate)} operations a second" for roof in roofs.values())
    label = f"Roofline: memory {size_rate(hardware.bandwidth)}{', ' if names else ''}{names}. {len(dots)} launches."
    return svg("".join(lines), label, (WIDTH, HEIGHT), kind=lane(target))


def size_rate(bandwidth: float) -> str:
    """Return bytes per second as a short text in the form that vendors use: `3.35 TB/s`."""
    return f"{format_amount(bandwidth)}B/s"


def _axes(across: Scale, up: Scale) -> Iterator[str]:
    for power in across.ticks():
        x = across.place(10.0**power)
        yield f'<path class="axis" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        anchor = ' text-anchor="end"' if power == across.high else ' text-anchor="middle"'
        amount = format_amount(10.0**power)
        yield f'<text class="soft" x="{x:.1f}" y="{HEIGHT - BOTTOM + LINE + 1}"{anchor}>{amount}</text>'
    for power in up.ticks():
        y = up.place(10.0**power)
        yield f'<path class="axis" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        amount = format_amount(10.0**power)
        yield f'<text class="soft" x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{amount}/s</text>'
    yield (
        f'<text class="soft" x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">'
        "operations per byte of main memory</text>"
    )
    yield '<text class="soft" x="0" y="10">model: operations per second, at most</text>'


def _roofs(roofs: list[Roof], hardware: Hardware, across: Scale, up: Scale) -> Iterator[str]:
    start = 10.0**across.low
    # The slope of the memory ends where it meets the highest roof, and never outside of the drawing.
    end = min(max([roof.rate for roof in roofs], default=math.inf) / hardware.bandwidth, 10.0**across.high)
    (x, y), (far, high) = (
        (across.place(intensity), up.place(hardware.bandwidth * intensity)) for intensity in (start, end)
    )
    turn = -math.degrees(math.atan2(y - high, far - x))
    yield f'<path class="roof" d="M{x:.1f} {y:.1f}L{far:.1f} {high:.1f}"/>'
    yield (
        f'<text text-anchor="middle" transform="translate({(x + far) / 2:.1f} {(y + high) / 2 + 15:.1f}) '
        f'rotate({turn:.1f})">memory, {size_rate(hardware.bandwidth)}</text>'
    )
    below = -math.inf
    # Draw from the top down, so that each name can be moved below the previous one.
    for roof in sorted(roofs, key=lambda peak: -peak.rate):
        x, y = across.place(max(roof.rate / hardware.bandwidth, start)), up.place(roof.rate)
        # The names of two roofs that are close together must not overlap.
        below = max(y - 4, below + LINE)
        yield f'<path class="roof" d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}"/>'
        name = html.escape(f"{roof.name}, {format_amount(roof.rate)}/s")
        yield f'<text x="{WIDTH - RIGHT}" y="{below:.1f}" text-anchor="end">{name}</text>'


def _dots(launches: Sequence[Launched], across: Scale, up: Scale) -> Iterator[str]:
    """Yield, as SVG, a dot for each place with a tooltip that describes the launches at it."""
    places: dict[tuple[float, float], list[Launched]] = defaultdict(list)
    for launched in launches:
        places[round(across.place(_intensity(launched)), 1), round(up.place(_rate(launched)), 1)].append(launched)
    for (x, y), in_place in places.items():
        tooltip = html.escape("\n".join(map(_describe_launch, in_place)))
        yield f'<g class="dot"><title>{tooltip}</title><circle cx="{x}" cy="{y}" r="5"/></g>'


def _list(dots: Sequence[Launched], launches: Sequence[Launched]) -> str:
    items = "".join(f"<li>{html.escape(_describe_launch(launched))}</li>" for launched in dots)
    others = len(launches) - len(dots)
    have, use = ("has no dot, because it does", "uses") if others == 1 else ("have no dot, because they do", "use")
    reason = f"{have} no counted operations or {use} no main memory"
    without = f"<p>{plural(others, 'launch', 'launches')} {reason}.</p>"
    listing = f"<ol>{items}</ol>{without if others else ''}"
    if len(dots) <= FEW:
        return listing
    return f"<details><summary>The {len(dots)} launches with a dot</summary>{listing}</details>"


def _describe_launch(launched: Launched) -> str:
    bound = launched.bound
    limits = f"; at least {format_duration(bound.seconds)}, limited by {bound.limit}" if bound else ""
    often = {1: "", None: ", an unknown number of times"}.get(launched.launch.runs, f", {launched.launch.runs} times")
    work = f"{format_amount(launched.work.flops)} operations, {format_bytes(launched.bytes)}"
    return f"{launched.launch.name}{often}: {work}, {_intensity(launched):.3g} per byte{limits}"


def _intensity(launched: Launched) -> float:
    return launched.intensity or 0.0


def _rate(launched: Launched) -> float:
    """Return the largest possible operations per second of a launch, or 0 if no bound is known."""
    return launched.work.flops / launched.bound.seconds if launched.bound else 0.0
