"""The report on the budgets of a file: violated bounds, their causes, and all measured numbers."""

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
"""The causes of a violated bound, in few words."""


@dataclass(frozen=True)
class BudgetReport(Answer):
    """The answer of `xla-inspect check`.

    Attributes:
        file: The file, as the user named it.
        rows: Each bound on each target.
        recorded: The number of new records.
    """

    file: str
    rows: tuple[Checked, ...]
    recorded: int = 0

    @property
    def holds(self) -> bool:
        """True if all bounds could be checked and hold."""
        return all(row.outcome == "holds" for row in self.rows)

    def list_rows(self, outcome: Outcome) -> Sequence[Checked]:
        """Return the rows with the given outcome."""
        return [row for row in self.rows if row.outcome == outcome]

    @property
    def is_of_compiler(self) -> bool:
        """True if bounds are violated and a change of the compiler is the only cause of all violations."""
        # Comparing the whole set also excludes a report without violated bounds, which has no causes.
        return {row.blame for row in self.list_rows("broken")} == {"compiler"}

    def tell(self) -> Iterator[Part]:
        """Yield the count of bounds that hold, the violated ones with causes, failed checks, and all numbers."""
        yield self._sum_up()
        for row in self.list_rows("broken"):
            sentence, *rest = row.said.splitlines() or [""]
            yield f"{row.program} on {row.target}, {row.claim}: {sentence}."
            if rest:
                # The indentation of the cause lines has a meaning relative to each other only, so the common part is
                # removed.
                lines = textwrap.dedent("\n".join(rest)).splitlines()
                yield Table(("where it comes from, and what changed",), tuple((line,) for line in lines))
        # All bounds of a program on a missing target have the same explanation, which is shown once.
        yield from dict.fromkeys(row.said for row in (*self.list_rows("unknown"), *self.list_rows("missing")))
        cells = tuple(
            (row.program, row.target, row.measured, row.recorded, row.outcome, row.claim)
            for row in self.rows
            if row.outcome != "missing"
        )
        if cells:
            yield Table(("program", "target", "measured", "recorded", "outcome", "bound"), cells, (2, 3))
        if self.is_of_compiler:
            yield "To accept the compiler's changes, run xla-inspect check --update: it changes records, not bounds."

    def _sum_up(self) -> str:
        broken, unknown, missing = self.list_rows("broken"), self.list_rows("unknown"), self.list_rows("missing")
        # A bound that could not be checked neither holds nor is violated, so the total leaves it out.
        total = len(self.rows) - len(missing) - len(unknown)
        holding = total - len(broken)
        sentence = f"{self.file}: {holding} of {plural(total, 'bound')} {'holds' if total == 1 else 'hold'}"
        if broken:
            counts = Counter(_BLAMED[row.blame] for row in broken)
            causes = ", ".join(f"{number} broken ({who})" for who, number in counts.items())
            sentence = f"{sentence}, {causes}"
        if unknown:
            sentence = f"{sentence}; {len(unknown)} could not be checked"
        if missing:
            sentence = f"{sentence}; {plural(len(missing), 'target')} cannot be compiled for here"
        if self.recorded:
            sentence = f"{sentence}; recorded {plural(self.recorded, 'program')}"
        return f"{sentence}."
