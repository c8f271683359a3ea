"""The finding of a check of a claim, functions that create findings, and the rule that turns one into a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from xla_inspect import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect import Capture, Captures


class Verdict(StrEnum):
    """The verdict on a claim."""

    TRUE = "true"
    FALSE = "false"
    MISLEADING = "misleading"
    BY_TARGET = "depends on target"
    BY_CASE = "depends on case"
    OUTDATED = "outdated"
    UNTESTED = "not testable here"


@dataclass(frozen=True, slots=True)
class Case:
    """The result of a check in one case.

    Attributes:
        holds: True if the claim holds; None if the claim is a question and `found` is the answer.
        found: The evidence in a few words; Markdown.
    """

    holds: bool | None
    found: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The numbers that follow from a claim, and the numbers that the check found, by case.

    Attributes:
        unit: The unit of both, such as `kernels`; `bytes` are shown in KiB and MiB.
        said: The number that follows from the claim, by case.
        found: The number that the check found, by case: the short name of a target, or words.
    """

    unit: str
    said: Mapping[str, int]
    found: Mapping[str, int]


@dataclass(frozen=True)
class Finding:
    """The finding of a check.

    Attributes:
        cases: The cases by name: the short name of a target, with further conditions (`h100`, `cpu, int32`), another
            condition in words, or an empty string for a single case.
        reading: The result for the implication of the claim; None if the claim implies only what it states.
        comparison: The numbers to plot; None if there are none.
    """

    cases: Mapping[str, Case]
    reading: Case | None = None
    comparison: Comparison | None = None

    def but(self, holds: bool, evidence: str) -> Finding:  # noqa: FBT001 - a statement and its truth
        """Return a copy of this finding with the result for the implication of the claim, and its evidence."""
        return replace(self, reading=Case(bool(holds), evidence))

    def compared(self, unit: str, claimed: int | Mapping[str, int], actual: Mapping[str, int]) -> Finding:
        """Return a copy of this finding with numbers to plot.

        Args:
            unit: The unit of the numbers.
            claimed: The number that follows from the claim, for all cases or by case.
            actual: The number that the check found, by case.
        """
        by_case = dict.fromkeys(actual, claimed) if isinstance(claimed, int) else claimed
        return replace(self, comparison=Comparison(unit, by_case, actual))

    def judge(self, *, once: bool) -> Verdict:
        """Return the verdict that follows from the cases and the implication.

        * Different answers, or a claim that holds in some cases: it depends (on the target, if the cases are targets).
        * A claim that holds in no case: false, or outdated if a source says that it held in an earlier release.
        * A claim that holds in every case: misleading if its implication is wrong, else true.

        Raises:
            ValueError: The finding has no case.
        """
        results = [case.holds for case in self.cases.values()]
        if not results:
            message = "a check must examine at least one case"
            raise ValueError(message)
        # None marks a question, whose answers are compared with each other.
        if None in results:
            results = [case.found == self._answers()[0] for case in self.cases.values()]
        if any(results) and not all(results):
            return Verdict.BY_TARGET if all(map(is_target, self.cases)) else Verdict.BY_CASE
        if not any(results):
            return Verdict.OUTDATED if once else Verdict.FALSE
        return Verdict.MISLEADING if self.reading and not self.reading.holds else Verdict.TRUE

    def _answers(self) -> list[str]:
        return [case.found for case in self.cases.values()]


def is_target(case: str) -> bool:
    """Return True if the name of a case is a target, perhaps with a further condition such as `h100, int32`."""
    return case.partition(",")[0] in TARGETS


def only(holds: bool, evidence: str = "") -> Finding:  # noqa: FBT001 - a statement and its truth
    """Return the finding of a check with a single case, whose name is empty."""
    return Finding({"": Case(bool(holds), evidence)})


def cases(outcomes: Mapping[str, tuple[bool, str]]) -> Finding:
    """Return the finding of a check with several cases, each with its result and evidence."""
    return Finding({name: Case(bool(holds), evidence) for name, (holds, evidence) in outcomes.items()})


def answers(answer_by_case: Mapping[str, str]) -> Finding:
    """Return the finding for a claim that is a question, with its answer in each case."""
    return Finding({name: Case(None, answer) for name, answer in answer_by_case.items()})


def by_target(captures: Captures, look: Callable[[Capture], tuple[bool, str]]) -> Finding:
    """Return the finding of a check with a case for each target, whose result and evidence `look` returns.

    Raises:
        TargetUnavailableError: This machine cannot compile for one of the targets.
    """
    return cases({target: look(captures[target]) for target in captures.targets})
