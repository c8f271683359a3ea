"""Launches summed by the line of Python that they come from: a model has many alike, and a line says more than one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.answers.answer import Table
from xla_inspect.plural import plural
from xla_inspect.report import close_brackets
from xla_inspect.units import format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST = 0.5
"""From which share of all on one line says too little, and its scopes are shown too."""
FEW_LINES = 6
"""How many lines are shown."""


@dataclass(frozen=True)
class LineTotal:
    """A line of Python and what comes of it.

    Attributes:
        where: The file and the line, as in `model.py:12`; an empty string for what has no line.
        text: The line as it is written.
        launches: How many launches come from it.
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


def sum_scopes(rows: Sequence[tuple[str, str, str, float]]) -> tuple[LineTotal, ...]:
    """Return the totals of the scopes of the one line that most comes from, or nothing where no line has most.

    Args:
        rows: Of each launch its line, the text of that, its scope, and its amount.
    """
    lines = sum_lines((where, text, amount) for where, text, _, amount in rows)
    whole = sum(line.amount for line in lines)
    if not whole or not lines[0].where or lines[0].amount < MOST * whole:
        return ()
    largest = lines[0].where
    named = sum_lines((largest, _cut(scope), amount) for where, _, scope, amount in rows if where == largest)
    return named if len(named) > 1 else ()


def _cut(scope: str) -> str:
    """Return a scope without the operation at its end."""
    return scope.rpartition("/")[0]


def tell_scopes(scopes: Sequence[LineTotal], what: str, show: Callable[[float], str]) -> Table:
    """Return the table of the largest scopes of one line, as `tell_lines` does of lines."""
    table = tell_lines([replace(each, where="", text=each.text or "no scope") for each in scopes], what, show)
    rest = f", the largest {FEW_LINES} of {len(scopes)}" if len(scopes) > FEW_LINES else ""
    return replace(table, columns=(*table.columns[:-1], "scope"), title=f"By scope in {scopes[0].where}{rest}")


def tell_lines(lines: Sequence[LineTotal], what: str, show: Callable[[float], str]) -> Table:
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
