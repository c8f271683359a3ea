"""How many instructions a module has after each pass that changed it, a line for each target."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.report.titles import lane, short, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.hlo.record import Captures

# CSS pixels: the column of a phone, the room for the scale on the left and for the last count on the right.
WIDTH, HEIGHT, LEFT, RIGHT, LINE = 352, 170, 34, 88, 12


def over_passes(captures: Captures) -> str:
    """Return a chart as HTML: instructions up, the changes of each target's pipeline across.

    Every line starts at the left with the module as the compiler got it and ends at the right with the optimized one,
    however many passes changed it between. A target that could not be compiled is named and has no line.
    """
    lines = {target: capture.instruction_counts for target, capture in captures.items()}
    top = max((max(counts) for counts in lines.values()), default=1)
    ends = _apart([_y(counts[-1], top) for counts in lines.values()])
    drawn = "".join(_line(target, counts, top, end) for (target, counts), end in zip(lines.items(), ends, strict=True))
    said = [f"{title(target)} from {counts[0]:,} to {counts[-1]:,}" for target, counts in lines.items()]
    said += [f"{title(target)} not compiled here" for target in captures.targets if target not in captures]
    label = f"Instructions in the module after each pass that changed it: {', '.join(said)}"
    scale = "".join(
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(value, top):.1f}" y2="{_y(value, top):.1f}"/>'
        f'<text class="soft" x="{LEFT - 5}" y="{_y(value, top) + 3.5:.1f}" text-anchor="end">{value:,}</text>'
        for value in dict.fromkeys((0, top // 2, top))
    )
    below = (
        f'<text class="soft" x="{LEFT}" y="{HEIGHT - 2}">as imported</text>'
        f'<text class="soft" x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">optimized</text>'
    )
    return (
        f'<figure class="counts" markdown="0"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{html.escape(label)}">{scale}{drawn}{below}</svg>'
        f"<figcaption>{html.escape(label)}.</figcaption></figure>\n"
    )


def _y(count: float, top: int) -> float:
    return HEIGHT - 22 - (HEIGHT - 32) * count / top


def _line(target: str, counts: Sequence[int], top: int, end: float) -> str:
    step = (WIDTH - RIGHT - LEFT) / max(len(counts) - 1, 1)
    path = f"M{LEFT} {_y(counts[0], top):.1f}" + "".join(
        f"H{LEFT + step * number:.1f}V{_y(count, top):.1f}" for number, count in enumerate(counts[1:], 1)
    )
    x, y, name = WIDTH - RIGHT, _y(counts[-1], top), html.escape(title(target))
    said = f"{name}: {len(counts) - 1} changes, from {counts[0]:,} to {counts[-1]:,} instructions"
    return (
        f'<g class="{lane(target)}"><title>{said}</title><path d="{path}"/><circle cx="{x}" cy="{y:.1f}" r="2.5"/>'
        f'<text x="{x + 7}" y="{end + 3.5:.1f}">{html.escape(short(target))} {counts[-1]:,}</text></g>'
    )


def _apart(wanted: list[float]) -> list[float]:
    """Heights near the wanted ones where lines of text do not cover each other."""
    placed = dict.fromkeys(range(len(wanted)), 0.0)
    last = float("-inf")
    for number in sorted(placed, key=lambda number: (wanted[number], number)):
        placed[number] = last = max(wanted[number], last + LINE)
    over = max(last - (HEIGHT - 22), 0.0) if wanted else 0.0
    return [place - over for place in placed.values()]
