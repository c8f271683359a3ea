"""The frame of a drawing: a figure with its caption, and inline SVG that takes its colours from the page."""

from __future__ import annotations

import html


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
    first = f'class="{kind}" ' if kind else ""
    view = " ".join(map(str, (0, 0, *box)[-4:]))
    styled = f' style="{style}"' if style else ""
    return f'<svg {first}viewBox="{view}"{styled} role="img" aria-label="{html.escape(label)}">{body}</svg>'
