"""The frame of a drawing: a figure with its caption, and inline SVG that uses the colors of the page."""

from __future__ import annotations

import html


def figure(kind: str, body: str, caption: str = "", *, label: str = "") -> str:
    """Return a drawing in its frame, as HTML.

    Args:
        kind: The CSS classes of the figure.
        body: The drawing, as HTML.
        caption: The caption below the drawing, as HTML.
        label: A plain-text description for screen readers, for a drawing that does not describe itself.
    """
    aria_label = f' aria-label="{html.escape(label)}"' if label else ""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure class="{kind}"{aria_label}>{body}{below}</figure>\n'


def svg(body: str, label: str, box: tuple[float, ...], *, kind: str = "", style: str = "") -> str:
    """Return a drawing as inline SVG.

    Args:
        body: The elements of the drawing, as SVG.
        label: A plain-text description for screen readers.
        box: The width and height in CSS pixels, preceded by the left and upper edge where these are not zero.
        kind: The CSS classes of the drawing.
        style: Inline CSS of the drawing.
    """
    first = f'class="{kind}" ' if kind else ""
    view = " ".join(map(str, (0, 0, *box)[-4:]))
    style_attribute = f' style="{style}"' if style else ""
    return f'<svg {first}viewBox="{view}"{style_attribute} role="img" aria-label="{html.escape(label)}">{body}</svg>'
