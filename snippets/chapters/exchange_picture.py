"""A drawing of the writers and readers of something, such as a file: writers on one side, readers on the other."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from xla_inspect.report import figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def draw_exchange(
    writers: Mapping[str, Sequence[str]], centre: tuple[str, str], readers: Mapping[str, Sequence[str]], caption: str
) -> str:
    """Return the drawing as HTML, which narrow screens show from top to bottom.

    Args:
        writers: The calls or commands that write, as code, by the writer's name.
        centre: The name of the exchanged thing, and a line about it.
        readers: The calls or commands that read, as code, by the reader's name.
        caption: A description of the drawing, plain text.
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
