"""What runs one after the other, as boxes in a row: one row for each way of running the same program."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.report import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class StripBox:
    """One thing that runs.

    Attributes:
        name: What it is called.
        kind: What it belongs to: one of the kinds that the drawing explains.
    """

    name: str
    kind: str


def draw_strips(rows: Mapping[str, Sequence[StripBox]], kinds: Mapping[str, str], caption: str) -> str:
    """Return the rows as HTML; a row that is too long for the screen goes on below itself.

    Args:
        rows: What is said of a row, to its boxes in order.
        kinds: Kind to what is said of it; at most three, and the first is drawn plainest.
        caption: What the drawing shows, plain text.

    Raises:
        ValueError: There are more than three kinds, or a box is of none of them.
    """
    order = list(kinds)
    if len(order) > len("abc"):
        message = f"a drawing of strips has three looks, and {len(order)} kinds were asked for: {', '.join(order)}"
        raise ValueError(message)
    if unknown := {box.kind for boxes in rows.values() for box in boxes} - set(order):
        message = f"no look for boxes of kind {', '.join(sorted(unknown))}; there are {', '.join(order)}"
        raise ValueError(message)
    look = {kind: "abc"[place] for place, kind in enumerate(order)}
    drawn = "".join(
        f"<dt>{html.escape(label)} <span>{len(boxes)}</span></dt>"
        f"<dd><ol>{''.join(_draw(box, look[box.kind]) for box in boxes)}</ol></dd>"
        for label, boxes in rows.items()
    )
    key = "".join(f'<li class="{look[kind]}">{html.escape(meaning)}</li>' for kind, meaning in kinds.items())
    body = f'<dl>{drawn}</dl><ul aria-label="what the boxes are">{key}</ul>'
    return figure("strips", body, html.escape(caption))


def _draw(box: StripBox, look: str) -> str:
    return f'<li class="{look}"><code>{html.escape(box.name)}</code></li>'
