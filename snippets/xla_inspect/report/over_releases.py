"""A number under one release after another, a line for each target."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.report.titles import lane, short, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# CSS pixels: the column of a phone, the room for the scale on the left and for the last number on the right.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, LINE = 352, 190, 40, 96, 8, 24, 12


def chart(series: Mapping[str, Sequence[int | None]], releases: Sequence[str], caption: str) -> str:
    """Return a chart as HTML: the number up, from zero, the releases across.

    Args:
        series: Target to its number under each release, None where there is none.
        releases: The releases, the oldest first.
        caption: What the lines show, plain text.
    """
    known = [number for numbers in series.values() for number in numbers if number is not None]
    top = max(known, default=0) or 1
    drawn = [
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(value, top):.1f}" y2="{_y(value, top):.1f}"/>'
        f'<text class="soft" x="{LEFT - 5}" y="{_y(value, top) + 3.5:.1f}" text-anchor="end">{value:,}</text>'
        for value in dict.fromkeys((0, top // 2, top))
    ]
    drawn += [
        f'<text class="soft" x="{_x(place, releases):.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{html.escape(name)}</text>"
        for place, name in enumerate(releases)
    ]
    drawn += _lines(series, releases, top)
    told = "; ".join(f"{title(target)}: {_tell(numbers, releases)}" for target, numbers in series.items())
    return (
        f'<figure class="counts" markdown="0"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{html.escape(f"{caption}. {told}")}">{"".join(drawn)}</svg>'
        f"<figcaption>{html.escape(caption)}.</figcaption></figure>\n"
    )


def _x(place: int, releases: Sequence[str]) -> float:
    return LEFT + 12 + (WIDTH - LEFT - RIGHT - 24) * place / max(len(releases) - 1, 1)


def _y(number: float, top: int) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * number / top


def _tell(numbers: Sequence[int | None], releases: Sequence[str]) -> str:
    pairs = zip(releases, numbers, strict=True)
    return ", ".join(f"{name} {'none' if number is None else f'{number:,}'}" for name, number in pairs)


def _lines(series: Mapping[str, Sequence[int | None]], releases: Sequence[str], top: int) -> Iterator[str]:
    """Yield each target's line, its name where it ends, no name over another."""
    points = {
        target: [(_x(place, releases), _y(number, top)) for place, number in enumerate(numbers) if number is not None]
        for target, numbers in series.items()
    }
    ends = {target: found[-1][1] for target, found in points.items() if found}
    last = float("-inf")
    for target in sorted(ends, key=lambda target: ends[target]):
        last = max(ends[target], last + LINE)
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points[target])
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in points[target])
        final = next(number for number in reversed(series[target]) if number is not None)
        said = f"{title(target)}: {_tell(series[target], releases)}"
        yield (
            f'<g class="{lane(target)}"><title>{html.escape(said)}</title><path d="{path}"/>{dots}'
            f'<text x="{points[target][-1][0] + 8:.1f}" y="{last + 3.5:.1f}">'
            f"{html.escape(short(target))} {final:,}</text></g>"
        )
