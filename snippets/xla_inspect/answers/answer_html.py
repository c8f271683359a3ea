"""An answer as HTML: a complete page, or an element for a notebook."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from xla_inspect.answers.answer_parts import Hint, Listing, Table
from xla_inspect.answers.missing_parts import tell_absences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from xla_inspect.answers.answer_parts import Part, Tellable

_CODE = re.compile(r"`([^`]+)`")
STYLE = """\
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
.xla-answer { overflow-wrap: anywhere; }
.xla-answer table { border-collapse: collapse; display: block; overflow-x: auto; }
.xla-answer caption { font-weight: 600; text-align: left; padding: .5rem 0; white-space: nowrap; }
.xla-answer th, .xla-answer td { padding: .15rem .75rem .15rem 0; text-align: left; vertical-align: top; }
.xla-answer th { border-bottom: 1px solid; font-weight: 600; }
.xla-answer .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.xla-answer pre { overflow-x: auto; }
.xla-answer .said { font-size: 1.15rem; }
"""


def write_page(answers: Iterable[Tellable], title: str, missing: Mapping[str, str] | None = None) -> str:
    """Return answers, one below the other, as a page without external files.

    Args:
        answers: The answers.
        title: The title of the page.
        missing: The reasons for missing information, by the name of a field of the capture.
    """
    body = "\n".join(map(write_fragment, answers))
    # The missing parts concern all answers of the page, so they come last.
    body += f"\n<p>{_write_text(tell_absences(missing))}</p>" if missing else ""
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>\n<main>{body}</main></html>\n"
    )


def write_fragment(answer: Tellable) -> str:
    """Return an answer as one HTML element."""
    return f'<div class="xla-answer">{"".join(_write_parts(answer))}</div>'


def _write_parts(answer: Tellable) -> Iterator[str]:
    for number, part in enumerate(answer.tell()):
        yield f'<p class="said">{_write_text(str(part))}</p>' if number == 0 else _write(part)


def _write(part: Part) -> str:
    if isinstance(part, Table):
        return _write_table(part)
    if isinstance(part, Listing):
        return f"<details><summary>{escape(part.title)}</summary><pre>{escape(part.text)}</pre></details>"
    if isinstance(part, Hint):
        command = f" <code>{escape(part.command)}</code>" if part.command else ""
        return f"<p>{_write_text(part.text)}{command}</p>"
    return f"<p>{_write_text(part)}</p>"


def _write_text(text: str) -> str:
    """Return a paragraph as HTML, with the text between backticks as code."""
    # The text is escaped first, so that the tags of the code remain.
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _write_table(table: Table) -> str:
    kinds = [' class="number"' if at in table.numbers else "" for at in range(len(table.columns))]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.columns, strict=True))
    rows = (
        "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
