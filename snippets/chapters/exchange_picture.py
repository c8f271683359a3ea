"""Who writes something and who reads it, as a drawing: rows on one side, the thing between, rows on the other."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.report import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def draw_exchange(
    writers: Mapping[str, Sequence[str]], centre: tuple[str, str], readers: Mapping[str, Sequence[str]], caption: str
) -> str:
    """Return the drawing as HTML; narrow screens show it from top to bottom.

    Args:
        writers: Name to the calls or commands that write, as code.
        centre: What is exchanged, and a line about it.
        readers: Name to the calls or commands that read, likewise.
        caption: What the drawing shows, plain text.
    """
    name, note = map(html.escape, centre)
    body = (
        f'<div><ul aria-label="written by">{_rows(writers)}</ul>'
        f"<p><b>{name}</b><span>{note}</span></p>"
        f'<ul aria-label="read by">{_rows(readers)}</ul></div>'
    )
    return figure("hub", body, html.escape(caption))


def _rows(rows: Mapping[str, Sequence[str]]) -> str:
    return "".join(
        f"<li><b>{html.escape(name)}</b>{''.join(f'<code>{html.escape(call)}</code>' for call in calls)}</li>"
        for name, calls in rows.items()
    )
