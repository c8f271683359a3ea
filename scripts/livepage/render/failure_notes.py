"""The notes on a served page that show its failures where they are, since a server does not stop at a failure."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from livepage.read import Failure, Source

_FENCE = re.compile(r"[ \t>]*(?P<marks>`{3,}|~{3,})")
# The white space and quote marks before a line, and the mark of a list item.
_LEAD = re.compile(r"(?P<lead>[ \t>]*)(?P<item>(?:[-+*]|\d+[.)])[ \t]+)?")
_ITEM_INDENT = " " * 4
"""The indentation that makes a block belong to a list item."""


def write_note(failure: Failure) -> str:
    """Return the HTML that shows a failure with its file and line."""
    return f'<p class="failed">{html.escape(str(failure))}</p>'


def place_notes(source: Source, failures: Iterable[Failure]) -> list[str]:
    """Return a page's lines with a note after each paragraph, table or fence that contains a failure.

    A failure in a file that the page does not include is noted at the top.
    """
    ends = _find_ends(source.lines)
    notes: dict[int, list[str]] = {}
    for failure in failures:
        at = _find_line(source, failure)
        lead = _read_lead(source.lines[at]) if at is not None else ""
        end = ends[at] if at is not None else -1
        notes.setdefault(end, []).append(f"{lead}{write_note(failure)}")
    lines = [line for note in notes.get(-1, []) for line in (note, "")]
    for at, line in enumerate(source.lines):
        lines.append(line)
        for note in notes.get(at, []):
            lines += ["", note, ""]
    return lines


def _find_line(source: Source, failure: Failure) -> int | None:
    """Return the index of the last line that starts at or before a failure in the same file, or None."""
    candidates = [
        at
        for at, origin in enumerate(source.origins)
        if origin.file == failure.origin.file and origin.line <= failure.origin.line
    ]
    return candidates[-1] if candidates else None


def _find_ends(lines: Sequence[str]) -> list[int]:
    """Return, for each line, the index of the last line of its paragraph, table or fence."""
    ends, start, marks = list[int](), 0, ""
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        is_end = not line.strip() and not marks
        if fence and not marks:
            marks = fence["marks"]
        elif fence and line.strip(" \t>") == marks:
            marks, is_end = "", True
        if is_end or at == len(lines) - 1:
            ends += [at] * (at + 1 - start)
            start = at + 1
    return ends


def _read_lead(line: str) -> str:
    """Return the indentation of a note below a line: inside the same quote, fold or list item."""
    match = _LEAD.match(line)
    return f"{match['lead']}{_ITEM_INDENT if match['item'] else ''}" if match else ""
