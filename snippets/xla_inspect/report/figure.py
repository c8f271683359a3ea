"""The frame of a drawing, and what is drawn in it: inline SVG that takes its colours from the page."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def figure(kind: str, body: str, caption: str = "", *, label: str = "") -> str:
    """Return a drawing in its frame, as HTML.

    Args:
        kind: Its classes, which style it.
        body: The drawing, HTML.
        caption: What stands under it, HTML.
        label: What it is, plain text, for those who cannot see it, where neither drawing nor caption says so.
    """
    named = f' aria-label="{html.escape(label)}"' if label else ""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure class="{kind}"{named}>{body}{below}</figure>\n'


def svg(body: str, label: str, box: tuple[float, ...], *, kind: str = "", style: str = "") -> str:
    """Return a drawing as inline SVG.

    Args:
        body: What it holds, SVG.
        label: What it shows, plain text, for those who cannot see it.
        box: Its width and height in CSS pixels, and before them its left and upper edge where these are not zero.
        kind: Its classes.
        style: CSS of its own.
    """
    view = " ".join(map(str, (0, 0, *box)[-4:]))
    styled = f' style="{style}"' if style else ""
    return f'<svg{_name(kind)} viewBox="{view}"{styled} role="img" aria-label="{html.escape(label)}">{body}</svg>'


def chart(kind: str, parts: Iterable[str], size: tuple[float, float], caption: str, description: str) -> str:
    """Return a drawing in its frame, as HTML.

    Args:
        kind: Its classes, which style it.
        parts: What it holds, SVG.
        size: Its width and height in CSS pixels.
        caption: What it shows, plain text without a full stop.
        description: Its numbers in words, for those who cannot see it.
    """
    return figure(kind, svg("".join(parts), f"{caption}. {description}", size), f"{html.escape(caption)}.")


def svg_text(x: float, y: float, text: str, kind: str = "", *, anchor: str = "") -> str:
    """Return a line of plain text whose baseline starts at a place, or has its `middle` or `end` there."""
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{_name(kind)} x="{x:.1f}" y="{y:.1f}"{placed}>{html.escape(text)}</text>'


def svg_rect(  # noqa: PLR0913 - four of them are the place
    x: float, y: float, width: float, height: float, kind: str = "", *, rest: str = ""
) -> str:
    """Return a rectangle by its upper left corner, its width and its height; `rest` are attributes of its own."""
    return f'<rect{_name(kind)} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{rest}/>'


def svg_line(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """Return a line from one point to another."""
    (x, y), (far, low) = start, end
    return f'<line class="{kind}" x1="{x:.1f}" x2="{far:.1f}" y1="{y:.1f}" y2="{low:.1f}"/>'


def svg_group(tooltip: str, *parts: str, kind: str = "") -> str:
    """Return parts of a drawing that have a tooltip, plain text, in common."""
    return f"<g{_name(kind)}><title>{html.escape(tooltip)}</title>{''.join(parts)}</g>"


def _name(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
