"""The Markdown elements of views: fences, folds, tabs, tables and tags."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_BY_MODEL = (
    "No GPU was present: a cost model chose the tiles, and Triton and a library were not compared by measurement"
)
# Tables with at most so many columns, of so few characters after the first column, fit side by side on a phone.
_FEW, _SHORT = 4, 9
_TAG = re.compile(r"<[^>]*>")
_CELL_BREAKS = str.maketrans({"|": "&#124;", "\n": " "})


def fence(text: str, language: str, *, title: str = "", wrap: bool = False) -> str:
    """Return `text` as a fenced block whose fence is longer than any fence inside the text.

    Args:
        text: The text to show unchanged.
        language: The name of a Pygments lexer.
        title: A caption above the block.
        wrap: Whether long lines wrap on a narrow screen.
    """
    # A fence must be longer than any run of backticks in the text, or the text would end it.
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    caption = f' title="{title.replace('"', "'")}"' if title else ""
    head = f"{{.{language} .wrap{caption}}}" if wrap else f"{language}{caption}"
    return f"{ticks}{head}\n{text.rstrip()}\n{ticks}\n"


def fold(summary: str, body: str, *, kind: str = "listing") -> str:
    """Return `body` folded below a summary line that opens it.

    Args:
        summary: The visible line, plain text.
        body: The folded Markdown.
        kind: The CSS class of the element.
    """
    return f'??? {kind} "{escape(summary)}"\n\n{indent(body)}\n'


def tabs(panes: Mapping[str, str]) -> str:
    """Return one tab per title, in order, each with its Markdown body."""
    return "\n".join(f'=== "{escape(title)}"\n\n{indent(body)}\n' for title, body in panes.items())


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> str:
    """Return a Markdown table.

    Args:
        header: Column titles.
        rows: Cells, as Markdown; an int is shown with thousands separators.
        numbers: Indexes of the columns to align to the right.
    """
    # The indexes may come from an iterator, which could be read only once.
    right = set(numbers)
    rule = ["--:" if column in right else "---" for column in range(len(header))]
    return "\n".join("| " + " | ".join(map(_cell, cells)) + " |" for cells in (header, rule, *rows)) + "\n"


def cards(header: Sequence[str], rows: Iterable[Sequence[str]], *, formatted: bool = False, folded: str = "") -> str:
    """Return a table as HTML; a narrow screen shows each row as a card with the column's title above each cell.

    A table with few columns stays a table on a narrow screen if all columns after the first are short, such as
    numbers.

    Args:
        header: Column titles, plain text.
        rows: Cells, as HTML.
        formatted: Whether cells are Markdown of one line each, so that their links are checked and rewritten.
        folded: The visible line, plain text, below which the table is folded; empty for a table that is not folded.
    """
    # CSS turns the rows into blocks on narrow screens; the roles tell screen readers that they are still a table.
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
    whole = f'<div class="{kind}"{inside}><table role="table"{inside}>{parts}</table></div>\n'
    # Python-Markdown reads Markdown in HTML only where it is not indented, so `fold` cannot hold a formatted table.
    summary = f"<summary>{escape(folded)}</summary>"
    return f'<details class="listing"{inside}>{summary}{whole.rstrip()}</details>\n' if folded else whole


def size(number: int) -> str:
    """Return a number of bytes as HTML in the largest suitable unit; hover and focus show the exact number."""
    amount = units.size(number)
    return f'<span class="size" data-exact="{amount.exact}" tabindex="0">{amount}</span>'


def by_model() -> str:
    """Return the note `by cost model` as HTML, for a number of a GPU's matmul whose tiles autotuning did not choose."""
    return f'<span class="by-model" data-exact="{_BY_MODEL}" tabindex="0">by cost model</span>'


def code(text: str) -> str:
    """Return `text` as inline code in HTML, safe in a Markdown table, or an empty string for an empty text."""
    return f"<code>{escape(text)}</code>" if text else ""


def escape(text: str) -> str:
    """Return `text` with characters escaped so that Markdown and HTML show it unchanged."""
    return re.sub(r"""[\\`*_{}\[\]#!|~^&<>"']""", lambda match: f"&#{ord(match[0])};", text)


def indent(text: str) -> str:
    """Return Markdown indented by one level, for the body of a tab or a fold."""
    return re.sub(r"^(?=.)", "    ", text, flags=re.MULTILINE)


def _cell(value: object) -> str:
    return (f"{value:,}" if isinstance(value, int) else str(value)).translate(_CELL_BREAKS)
