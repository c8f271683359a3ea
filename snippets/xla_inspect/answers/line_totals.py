"""Totals of launches, values and collectives by line of Python or by named scope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import close_brackets
from xla_inspect.answers.answer_parts import Table
from xla_inspect.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST = 0.5
"""If one line has at least this share of the total, the answer also lists the scopes within the line."""
FEW_LINES = 6
"""The number of lines in a table."""


@dataclass(frozen=True)
class LineTotal:
    """The total for a line of Python, or for a scope within it.

    Attributes:
        where: The file and the line, as in `model.py:12`; an empty string for the launches without a line.
        text: The source text of the line, or the scope.
        launches: The number of launches, values or collectives of the line.
        amount: Their sum in seconds, or in bytes if no times are available.
    """

    where: str
    text: str
    launches: int
    amount: float


def sum_lines(rows: Iterable[tuple[str, str, float]]) -> tuple[LineTotal, ...]:
    """Return the number and the summed amount of the launches of each line, the largest amount first.

    Args:
        rows: The line, the line's text and the amount of each launch.
    """
    totals: dict[tuple[str, str], tuple[int, float]] = {}
    for where, text, amount in rows:
        launches, sum_ = totals.get((where, text), (0, 0.0))
        totals[where, text] = launches + 1, sum_ + amount
    lines = [LineTotal(*place, *total) for place, total in totals.items()]
    # The sort is stable, so equal lines keep the order of their rows.
    return tuple(sorted(lines, key=lambda line: -line.amount))


def sum_scopes(rows: Sequence[tuple[str, str, float]]) -> tuple[LineTotal, ...]:
    """Return the totals by scope of the line that has at least half of the total amount.

    The result is empty if there is no such line, or if it has only one scope. Launches without a known line count as
    one line.

    Args:
        rows: The line, the scope and the amount of each launch, value or collective.
    """
    # The text does not matter here, so launches without a line count as one line.
    lines = sum_lines((where, "", amount) for where, _, amount in rows)
    whole = sum(line.amount for line in lines)
    if not whole or lines[0].amount < MOST * whole:
        return ()
    largest = lines[0].where
    scopes = sum_lines(row for row in rows if row[0] == largest)
    # A single scope says no more than its line.
    return scopes if len(scopes) > 1 else ()


def tell_scopes(scopes: Sequence[LineTotal], what: str, show: Callable[..., str], unit: str = "launches") -> Table:
    """Return a table of the six largest scopes of one line, like the table of lines of `tell_lines`."""
    table = tell_lines([replace(scope, where="", text=name_scope(scope)) for scope in scopes], what, show)
    rest = f" (the {FEW_LINES} largest of {len(scopes)})" if len(scopes) > FEW_LINES else ""
    place = f"in {scopes[0].where}" if scopes[0].where else f"for {unit} without a line"
    return replace(table, columns=(*table.columns[:2], unit, "scope"), title=f"By scope {place}{rest}")


def name_scope(total: LineTotal) -> str:
    """Return the scope of a total, or `no scope` if it is empty."""
    return total.text or "no scope"


def name_line(where: str, text: str) -> str:
    """Return a line of Python with its source text, or `no line known`."""
    return f"{where} {close_brackets(text)}".strip() or "no line known"


def tell_lines(lines: Sequence[LineTotal], what: str, show: Callable[..., str]) -> Table:
    """Return a table of the six largest lines, with amount, share, number of launches and source text.

    Args:
        lines: All lines, the largest first.
        what: The heading of the amounts.
        show: A function that formats an amount.
    """
    # A total of zero must not lead to a division by zero.
    whole = sum(line.amount for line in lines) or 1.0
    rows = tuple(
        (
            show(line.amount),
            format_share(line.amount / whole),
            f"{line.launches:,}",
            name_line(line.where, line.text),
        )
        for line in lines[:FEW_LINES]
    )
    rest = f" (the {FEW_LINES} largest of {len(lines)})" if len(lines) > FEW_LINES else ""
    return Table((what, "share", "launches", "line"), rows, (0, 1, 2), title=f"By line of Python{rest}")
