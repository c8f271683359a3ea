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
    from xla_inspect.budgets.budget_check import Outcome

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

    def list_rows(self, outcome: Outcome) -> Sequence[Checked]:
        """Return the bounds of one outcome."""
        return [row for row in self.rows if row.outcome == outcome]

    @property
    def is_of_compiler(self) -> bool:
        """Whether what is broken is so since another compiler is here than when it was recorded, and nothing else."""
        return {row.blame for row in self.list_rows("broken")} == {"compiler"}

    def tell(self) -> Iterator[Part]:
        """Yield how many bounds hold, each that does not with where it comes from, and all numbers."""
        yield self._sum_up()
        for row in self.list_rows("broken"):
            said, *rest = row.said.splitlines() or [""]
            yield f"{row.program} on {row.target}, {row.claim}: {said}."
            if rest:
                lines = textwrap.dedent("\n".join(rest)).splitlines()
                yield Table(("where it comes from, and what changed",), tuple((line,) for line in lines))
        yield from dict.fromkeys(row.said for row in (*self.list_rows("unknown"), *self.list_rows("missing")))
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
        broken, unknown, missing = self.list_rows("broken"), self.list_rows("unknown"), self.list_rows("missing")
        total = len(self.rows) - len(missing) - len(unknown)
        kept = total - len(broken)
        said = f"{self.file}: {kept} of {plural(total, 'bound')} {'holds' if total == 1 else 'hold'}"
        if broken:
            blamed = Counter(_BLAMED[row.blame] for row in broken)
            told = ", ".join(f"{number} broken ({who})" for who, number in blamed.items())
            said = f"{said}, {told}"
        if unknown:
            said = f"{said}; {len(unknown)} could not be checked"
        if missing:
            said = f"{said}; {plural(len(missing), 'target')} cannot be compiled for here"
        if self.recorded:
            said = f"{said}; recorded {plural(self.recorded, 'program')}"
        return f"{said}."
