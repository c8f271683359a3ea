"""The Markdown that views are made of: fences, folds, tabs, tables and stamps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_BY_MODEL = "Without a GPU a cost model chose the tiles, and no measurement chose between Triton and a library"
# So many columns of so few characters beside the first stand next to each other on a phone.
_FEW, _SHORT = 4, 9
_TAG = re.compile(r"<[^>]*>")
_CELL_BREAKS = str.maketrans({"|": "&#124;", "\n": " "})


def fence(text: str, language: str, *, title: str = "", wrap: bool = False) -> str:
    """Return `text` as a fenced block, safe against fences inside it.

    Args:
        text: What to show, as it is.
        language: The name of its Pygments lexer.
        title: A caption above it.
        wrap: Whether long lines wrap on a narrow screen, as those of HLO do.
    """
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    caption = f' title="{title.replace('"', "'")}"' if title else ""
    head = f"{{.{language} .wrap{caption}}}" if wrap else f"{language}{caption}"
    return f"{ticks}{head}\n{text.rstrip()}\n{ticks}\n"


def fold(summary: str, body: str, *, kind: str = "listing") -> str:
    """Return `body` folded under a line that says what opens.

    Args:
        summary: The visible line, plain text.
        body: Markdown.
        kind: The class of the element.
    """
    return f'??? {kind} "{escape(summary)}"\n\n{indent(body)}\n'


def tabs(panes: Mapping[str, str]) -> str:
    """Return one tab per title, in order, each with its Markdown body."""
    return "\n".join(f'=== "{escape(title)}"\n\n{indent(body)}\n' for title, body in panes.items())


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> str:
    """Return a Markdown table.

    Args:
        header: Column titles.
        rows: Cells, Markdown; an int is shown with thousands separators.
        numbers: Indexes of the columns that are aligned to the right.
    """
    right = set(numbers)
    rule = ["--:" if column in right else "---" for column in range(len(header))]
    return "\n".join("| " + " | ".join(map(_cell, cells)) + " |" for cells in (header, rule, *rows)) + "\n"


def cards(header: Sequence[str], rows: Iterable[Sequence[str]], *, formatted: bool = False) -> str:
    """Return a table as HTML that narrow screens show as one card a row, each cell under its column's title.

    A table of few columns, all short but for the first, as numbers are, stays a table there.

    Args:
        header: Column titles, plain text.
        rows: Cells, HTML.
        formatted: Whether cells are Markdown, one line each, so that their links are checked and rewritten.
    """
    # The roles keep it a table for those who listen when CSS makes blocks of its parts.
    titles, rows = [escape(name) for name in header], [[*cells] for cells in rows]
    short = len(header) <= _FEW and all(len(_TAG.sub("", cell)) <= _SHORT for cells in rows for cell in cells[1:])
    kind = "cards few" if short else "cards"
    inside, cell_inside = (' markdown="block"', ' markdown="span"') if formatted else ("", "")
    head = "".join(f'<th role="columnheader"{cell_inside}>{name}</th>' for name in titles)
    body = "".join(
        f'<tr role="row"{inside}>'
        + "".join(
            f'<td role="cell" data-title="{name}"{cell_inside}><span>{cell}</span></td>'
            for name, cell in zip(titles, cells, strict=True)
        )
        + "</tr>"
        for cells in rows
    )
    parts = (
        f'<thead role="rowgroup"{inside}><tr role="row"{inside}>{head}</tr></thead>'
        f'<tbody role="rowgroup"{inside}>{body}</tbody>'
    )
    return f'<div class="{kind}"{inside}><table role="table"{inside}>{parts}</table></div>\n'


def size(number: int) -> str:
    """Return a number of bytes as HTML, in the largest unit that it fills; hover and focus show how many they are."""
    shown = units.size(number)
    return f'<span class="size" data-exact="{shown.exact}" tabindex="0">{shown}</span>'


def by_model() -> str:
    """Return the tag behind a number of a GPU's matmul that no autotuning chose, as HTML for a table or a sentence."""
    return f'<span class="by-model" data-exact="{_BY_MODEL}" tabindex="0">by cost model</span>'


def code(text: str) -> str:
    """Return `text` as inline code, safe in a table."""
    return f"<code>{escape(text)}</code>" if text else ""


def escape(text: str) -> str:
    """Return `text` so that Markdown and HTML show it as it is."""
    return re.sub(r"""[\\`*_{}\[\]#!|~^&<>"']""", lambda match: f"&#{ord(match[0])};", text)


def indent(text: str) -> str:
    """Return Markdown one level deeper, for the body of a tab or a fold."""
    return re.sub(r"^(?=.)", "    ", text, flags=re.MULTILINE)


def _cell(value: object) -> str:
    return (f"{value:,}" if isinstance(value, int) else str(value)).translate(_CELL_BREAKS)
