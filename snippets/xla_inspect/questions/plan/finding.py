"""The answer about plans: the compiled variants of a program with their memory and time, and why others fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.estimates import RangedTime
from xla_inspect.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part

type Ending = Literal["complete", "model", "budget", "interrupted"]


@dataclass(frozen=True)
class Plan(RangedTime):
    """A variant of the program.

    Attributes:
        change: The changes in words.
        options: The options of the tool that make changes, as on the command line.
        edits: The changes that need an edit of the code, in words.
        needed_bytes: The memory of one device that it needs; of its arguments alone if it was not compiled.
        fits: Whether it fits, or None if unknown.
        seconds: The likely seconds of a step, or None if it did not compile.
        low_seconds: The lower end of the range.
        high_seconds: The upper end of the range.
        is_least: Whether the operations of a part are not known, so that the time is at least this one.
        utilization: The model flops utilization as a share; None if unknown.
        failure: The reason why it cannot be used, or an empty string.
    """

    change: str
    options: str
    edits: tuple[str, ...]
    needed_bytes: int | None
    fits: bool | None
    seconds: float | None = None
    low_seconds: float = 0.0
    high_seconds: float = 0.0
    is_least: bool = False
    utilization: float | None = None
    failure: str = ""


@dataclass(frozen=True)
class StepPlan(Answer):
    """The best plans for a program on one target.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The target's short name, with its grid.
        available_bytes: The memory of a device, or None if it is unknown.
        written: The program as it is written.
        plans: The plans that fit, the fastest first.
        failures: The plans that do not fit or do not compile.
        tried: The number of choices by kind of change, with the unchanged one.
        absent: The kinds of changes that the program has no choice for.
        possible: The number of combinations of all choices.
        compiled: The number of compiled plans.
        ending: The reason why the search ended.
    """

    program: str
    asked: str
    target: str
    available_bytes: int | None
    written: Plan
    plans: tuple[Plan, ...]
    failures: tuple[Plan, ...]
    tried: dict[str, int]
    absent: tuple[str, ...]
    possible: int
    compiled: int
    ending: Ending

    @property
    def holds(self) -> bool:
        """True if a plan fits."""
        return bool(self.plans)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the best plan in one sentence, tables of plans and failures, and commands."""
        from xla_inspect.questions.plan.rendering import render

        return render(self)
