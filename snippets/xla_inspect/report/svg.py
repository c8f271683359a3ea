"""Small drawings as inline SVG that takes its colours from the page."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def sparkline(values: Sequence[int], label: str, *, width: int = 120, height: int = 32) -> str:
    """Return a line of `values` over their order.

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
    return (
        f'<svg class="sparkline" viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">'
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor"/></svg>'
    )
