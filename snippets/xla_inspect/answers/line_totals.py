"""Launches summed by the line of Python that they come from: a model has many alike, and a line says more than one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers.answer import Table
from xla_inspect.plural import plural
from xla_inspect.report import close_brackets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
            f"{line.amount / whole:.0%}",
            f"{line.launches:,}",
            f"{line.where} {close_brackets(line.text)}".strip() or "no line kept",
        )
        for line in lines[:FEW_LINES]
    )
    rest = f", the largest {FEW_LINES} of {plural(len(lines), 'line')}" if len(lines) > FEW_LINES else ""
    return Table((what, "share", "launches", "line"), rows, (0, 1, 2), title=f"By line of Python{rest}")
