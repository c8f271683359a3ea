"""Rows of boxes for operations that run one after the other: one row for each way to run the same program."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.report import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class StripBox:
    """One box: an operation, a kernel or a call.

    Attributes:
        name: The name in the box.
        kind: Its kind, one of those in the key of the drawing.
    """

    name: str
    kind: str


def draw_strips(rows: Mapping[str, Sequence[StripBox]], kinds: Mapping[str, str], caption: str) -> str:
    """Return the rows as HTML; a row that is too long for the screen wraps.

    Args:
        rows: The boxes of each row in order, by the row's label.
        kinds: The explanation of each kind, at most three; the first has the plainest style.
        caption: A description of the drawing, plain text.

    Raises:
        ValueError: There are more than three kinds, or a box has an unknown kind.
    """
    order = list(kinds)
    # The style sheet has one class for each of at most three kinds: a, b and c.
    if len(order) > len("abc"):
        message = f"a drawing of strips has three styles, too few for {len(order)} kinds: {', '.join(order)}"
        raise ValueError(message)
    if unknown := {box.kind for boxes in rows.values() for box in boxes} - set(order):
        message = f"unknown kind of box: {', '.join(sorted(unknown))}; the kinds are {', '.join(order)}"
        raise ValueError(message)
    look = {kind: "abc"[place] for place, kind in enumerate(order)}
    rows_html = "".join(
        f"<dt>{html.escape(label)} <span>{len(boxes)}</span></dt>"
        f"<dd><ol>{''.join(_draw(box, look[box.kind]) for box in boxes)}</ol></dd>"
        for label, boxes in rows.items()
    )
    key = "".join(f'<li class="{look[kind]}">{html.escape(meaning)}</li>' for kind, meaning in kinds.items())
    body = f'<dl>{rows_html}</dl><ul aria-label="kinds of boxes">{key}</ul>'
    return figure("strips", body, html.escape(caption))


def _draw(box: StripBox, look: str) -> str:
    return f'<li class="{look}"><code>{html.escape(box.name)}</code></li>'
