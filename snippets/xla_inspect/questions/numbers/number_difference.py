"""The answer about the results of two programs on the same inputs: their differences and the passes behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer
from xla_inspect.questions.numbers.finding import (  # noqa: TC001 - the schema is read off the annotations
    ArrayDifference,
    NumberChanges,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part


@dataclass(frozen=True, kw_only=True)
class NumberDifference(Answer):
    """The differences between the results of two programs on the same inputs.

    Attributes:
        names: The names of the two programs in the comparison.
        left: The passes of the first program that change bits.
        right: The passes of the second program that change bits.
        outputs: The number of results of each program.
        before: The differences of the first modules that ran, for each result that differs.
        after: The differences of the last modules that ran, for each result that differs.
        is_before_passes: Whether no module of one program has the result of a module of the other, so that their
            results differ from the first modules on.
        left_step: The step of the first program after its last result that the second one has, too; None if no step
            follows. If `is_before_passes`, its first module with the first instruction whose value differs.
        right_step: The same of the second program.
        is_complete: Whether the last modules that ran are the optimized ones.
    """

    names: tuple[str, str]
    left: NumberChanges
    right: NumberChanges
    outputs: int = 0
    before: tuple[ArrayDifference, ...] = ()
    after: tuple[ArrayDifference, ...] = ()
    is_before_passes: bool = False
    left_step: Step | None = None
    right_step: Step | None = None
    is_complete: bool = False

    @property
    def holds(self) -> bool:
        """True if the optimized modules of both programs have the same results, bit by bit."""
        return self.is_complete and not self.after

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, the differences of each result, and the passes behind them."""
        from xla_inspect.questions.numbers.difference_rendering import render

        return render(self)
