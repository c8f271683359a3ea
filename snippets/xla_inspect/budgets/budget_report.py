"""Whether the programs of a file keep their budgets, told: what is broken, by whom, and what was measured."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer, Table
from xla_inspect.budgets.budget_check import Checked  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part

_BLAMED = {
    "code": "your program changed",
    "compiler": "the compiler changed",
    "both": "your program and the compiler changed",
    "nothing": "nothing changed but the bound",
    "unrecorded": "nothing was recorded",
}
"""Who broke a bound, in few words."""


@dataclass(frozen=True)
class BudgetReport(Answer):
    """Whether the programs of a file keep their budgets.

    Attributes:
        file: The file, as it was named.
        rows: Each bound on each target.
        recorded: How many records were made.
    """

    file: str
    rows: tuple[Checked, ...]
    recorded: int = 0

    @property
    def holds(self) -> bool:
        """Whether all bounds hold, and each could be told."""
        return all(row.outcome == "holds" for row in self.rows)

    @property
    def broken(self) -> Sequence[Checked]:
        """The bounds that are broken."""
        return [row for row in self.rows if row.outcome == "broken"]

    @property
    def missing(self) -> Sequence[Checked]:
        """The bounds that cannot be told here."""
        return [row for row in self.rows if row.outcome == "missing"]

    @property
    def unknown(self) -> Sequence[Checked]:
        """The bounds that were compared with nothing, since no record was made or since they name nothing."""
        return [row for row in self.rows if row.outcome == "unknown"]

    @property
    def is_of_compiler(self) -> bool:
        """Whether what is broken is so since another compiler is here than when it was recorded, and nothing else."""
        return bool(self.broken) and all(row.blame == "compiler" for row in self.broken)

    def tell(self) -> Iterator[Part]:
        """Yield how many bounds hold, each that does not with where it comes from, and all numbers."""
        yield self._sum_up()
        for row in self.broken:
            said, *rest = row.said.splitlines() or [""]
            yield f"{row.program} on {row.target}, {row.claim}: {said}."
            if rest:
                lines = textwrap.dedent("\n".join(rest)).splitlines()
                yield Table(("where it comes from, and what changed",), tuple((line,) for line in lines))
        yield from dict.fromkeys(row.said for row in (*self.unknown, *self.missing))
        cells = tuple(
            (row.program, row.target, row.measured, row.recorded, row.outcome, row.claim)
            for row in self.rows
            if row.outcome != "missing"
        )
        if cells:
            yield Table(("program", "target", "is", "recorded", "", "bound"), cells, (2, 3))
        if self.is_of_compiler:
            yield "See what the compiler changed; xla-inspect check --update records it, and leaves your bounds alone."

    def _sum_up(self) -> str:
        total = len(self.rows) - len(self.missing) - len(self.unknown)
        kept = total - len(self.broken)
        said = f"{self.file}: {kept} of {plural(total, 'bound')} {'holds' if total == 1 else 'hold'}"
        if self.broken:
            blamed = Counter(_BLAMED[row.blame] for row in self.broken)
            told = ", ".join(f"{number} broken ({who})" for who, number in blamed.items())
            said = f"{said}, {told}"
        if self.unknown:
            said = f"{said}; {len(self.unknown)} could not be checked"
        if self.missing:
            said = f"{said}; {plural(len(self.missing), 'target')} cannot be compiled for here"
        if self.recorded:
            said = f"{said}; recorded {plural(self.recorded, 'program')}"
        return f"{said}."
