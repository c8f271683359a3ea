"""A picture of sharded arrays: each array with the part of it that one device stores."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from xla_inspect.report import figure, svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Capture

# CSS pixels: the width of a phone's column, the maximum height and width of an array, and the space around it.
WIDTH, TALL, WIDE, GAP, LINE = 352, 56.0, 62.0, 10, 12


def draw_shards(captures: Mapping[str, Capture], caption: str, *, names: Sequence[str]) -> str:
    """Return a row of arrays for each capture as HTML, on one scale, with the first device's part of each filled.

    Args:
        captures: For each way to shard the arrays, a capture of the program with that sharding.
        caption: A description of the picture, plain text, without a full stop.
        names: JAX's names of the parameters to draw, which have one or two dimensions.
    """
    rows, marks, y, descriptions = [_pairs(capture, names) for capture in captures.values()], [], 0.0, []
    # All arrays share one scale, so that their sizes can be compared.
    longest = max(side for row in rows for whole, _ in row for side in whole)
    for title, row in zip(captures, rows, strict=True):
        marks.append(f'<text x="0" y="{y + LINE - 2:.1f}">{html.escape(title)}</text>')
        y += LINE + 4
        labels, tallest = [], 0.0
        for number, (name, (whole, part)) in enumerate(zip(names, row, strict=True)):
            x = number * (WIDTH / len(names))
            (height, width), (down, across) = _sides(whole, longest), _sides(part, longest)
            label = f"{name}: {_shape(part)} of {_shape(whole)}"
            labels.append(label)
            tallest = max(tallest, height)
            marks.append(
                f"<g><title>{html.escape(f'{title}, {label}')}</title>"
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
                f'<rect class="part" x="{x:.1f}" y="{y:.1f}" width="{across:.1f}" height="{down:.1f}"/>'
                f'<text x="{x:.1f}" y="{y + height + LINE:.1f}">{html.escape(name)}</text>'
                f'<text class="soft" x="{x:.1f}" y="{y + height + 2 * LINE:.1f}">{_shape(part)}</text></g>'
            )
        descriptions.append(f"{title}: {', '.join(labels)}")
        y += tallest + 2 * LINE + GAP
    picture = svg("".join(marks), f"{caption}. {'; '.join(descriptions)}", (WIDTH, round(y, 1)))
    return figure("cuts", picture, f"{html.escape(caption)}.")


def _pairs(capture: Capture, names: Sequence[str]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return for each parameter's name the dimensions of the whole array and of one device's part."""
    # Parameters have their whole shape before partitioning, and the shape of one device's part after it.
    whole = {one.op_name: one.shape.dimensions for one in capture.unoptimized_module.entry.parameters}
    part = {one.op_name: one.shape.dimensions for one in capture.module.entry.parameters}
    return [(whole[name], part[name]) for name in names]


def _sides(dimensions: tuple[int, ...], longest: int) -> tuple[float, float]:
    """Return height and width in pixels, scaled by square roots so that thin parts stay visible."""
    height, width = dimensions if len(dimensions) > 1 else (1, *dimensions)
    # Sides of less than three pixels would be hard to see.
    return max(TALL * math.sqrt(height / longest), 3), max(WIDE * math.sqrt(width / longest), 3)


def _shape(dimensions: tuple[int, ...]) -> str:
    return "\N{MULTIPLICATION SIGN}".join(map(str, dimensions))
