"""Launches, values and collectives summed by the line of Python or the scope that they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.answers.answer_parts import Table
from xla_inspect.plural import plural
from xla_inspect.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST = 0.5
"""From which share of all on one line says too little, and its scopes are shown too."""
FEW_LINES = 6
"""The number of lines that are shown."""


@dataclass(frozen=True)
class LineTotal:
    """A line of Python, or a scope in it, and what comes of it.

    Attributes:
        where: The file and the line, as in `model.py:12`; an empty string for what has no line.
        text: The line as it is written, or the scope.
        launches: How many launches, values or collectives come from it.
        amount: What they amount to: seconds, or bytes where there is no time.
    """

    where: str
    text: str
    launches: int
    amount: float


def sum_lines(rows: Iterable[tuple[str, str, float]]) -> tuple[LineTotal, ...]:
    """Return the totals of lines, the largest first.

    Args:
        rows: Of each launch its line, the text of that, and its amount.
    """
    totals: dict[tuple[str, str], tuple[int, float]] = {}
    for where, text, amount in rows:
        launches, sum_ = totals.get((where, text), (0, 0.0))
        totals[where, text] = launches + 1, sum_ + amount
    made = [LineTotal(*place, *total) for place, total in totals.items()]
    return tuple(sorted(made, key=lambda line: -line.amount))


def sum_scopes(rows: Sequence[tuple[str, str, float]]) -> tuple[LineTotal, ...]:
    """Return the totals of the scopes of the one line that has most, or of all without a line where those have most.

    Args:
        rows: Of each launch, value or collective its line, its scope, and its amount.
    """
    lines = sum_lines((where, "", amount) for where, _, amount in rows)
    whole = sum(line.amount for line in lines)
    if not whole or lines[0].amount < MOST * whole:
        return ()
    largest = lines[0].where
    named = sum_lines(row for row in rows if row[0] == largest)
    return named if len(named) > 1 else ()


def tell_scopes(scopes: Sequence[LineTotal], what: str, show: Callable[..., str], counted: str = "launches") -> Table:
    """Return the table of the largest scopes of one line, as `tell_lines` does of lines."""
    table = tell_lines([replace(each, where="", text=name_scope(each)) for each in scopes], what, show)
    rest = f", the largest {FEW_LINES} of {len(scopes)}" if len(scopes) > FEW_LINES else ""
    place = f"in {scopes[0].where}" if scopes[0].where else "of what has no line"
    return replace(table, columns=(*table.columns[:2], counted, "scope"), title=f"By scope {place}{rest}")


def name_scope(total: LineTotal) -> str:
    """Return the scope of a total as tables show it."""
    return total.text or "no scope"


def tell_lines(lines: Sequence[LineTotal], what: str, show: Callable[..., str]) -> Table:
    """Return the table of the largest lines.

    Args:
        lines: All of them, the largest first.
        what: What their amounts are.
        show: Writes an amount.
    """
    whole = sum(line.amount for line in lines) or 1.0
    rows = tuple(
        (
            show(line.amount),
            format_share(line.amount / whole),
            f"{line.launches:,}",
            f"{line.where} {close_brackets(line.text)}".strip() or "no line kept",
        )
        for line in lines[:FEW_LINES]
    )
    rest = f", the largest {FEW_LINES} of {plural(len(lines), 'line')}" if len(lines) > FEW_LINES else ""
    return Table((what, "share", "launches", "line"), rows, (0, 1, 2), title=f"By line of Python{rest}")
