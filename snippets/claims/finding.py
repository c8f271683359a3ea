"""What a check found, and the rule that turns it into a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from xla_inspect import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect import Capture, Captures


class Verdict(StrEnum):
    """What can be said of a claim."""

    TRUE = "true"
    FALSE = "false"
    MISLEADING = "misleading"
    BY_TARGET = "depends on target"
    BY_CASE = "depends on case"
    OUTDATED = "outdated"
    UNTESTED = "not testable here"


@dataclass(frozen=True, slots=True)
class Case:
    """Whether a claim holds in one case, and what was found there.

    Attributes:
        holds: Whether it holds; None where the claim is a question and `found` the answer.
        found: What was found, in a few words; Markdown.
    """

    holds: bool | None
    found: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The number that a claim comes down to, beside what was found.

    Attributes:
        unit: What is counted, as in `kernels`; `bytes` are shown in KiB and MiB.
        said: What follows from the claim, by case.
        found: What was found, for the same cases: targets by their short names, others in words.
    """

    unit: str
    said: Mapping[str, int]
    found: Mapping[str, int]


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        cases: Each case by its name: the short name of a target with what else matters (`h100`, `cpu, int32`), another
            condition in words, or an empty string where there is but one.
        reading: Whether what a reader takes from the claim holds as well; None where that is what it says.
        comparison: What can be drawn of it; None where there is no number.
    """

    cases: Mapping[str, Case]
    reading: Case | None = None
    comparison: Comparison | None = None

    def but(self, holds: bool, evidence: str) -> Finding:  # noqa: FBT001 - a statement and its truth
        """Return the finding with whether what a reader takes from the claim holds as well."""
        return replace(self, reading=Case(bool(holds), evidence))

    def compared(self, unit: str, said: int | Mapping[str, int], found: Mapping[str, int]) -> Finding:
        """Return the finding with what can be drawn of it.

        Args:
            unit: What is counted.
            said: What follows from the claim, for all cases or for each.
            found: What was found, by case.
        """
        by_case = dict.fromkeys(found, said) if isinstance(said, int) else said
        return replace(self, comparison=Comparison(unit, by_case, found))

    def judge(self, *, once: bool) -> Verdict:
        """Return the verdict.

        * Answers that differ, or a claim that holds in some cases: it depends (on the target, when these are targets).
        * A claim that holds in no case: false, or outdated where a source says that it held in an earlier release.
        * A claim whose words hold in each case: misleading when what a reader takes from it does not hold, else true.

        Args:
            once: Whether a source says that the claim held in an earlier release.
        """
        held = [case.holds for case in self.cases.values()]
        if not held:
            message = "a check must look at one case at least"
            raise ValueError(message)
        if None in held:
            held = [case.found == self._answers()[0] for case in self.cases.values()]
        if any(held) and not all(held):
            return Verdict.BY_TARGET if all(map(is_target, self.cases)) else Verdict.BY_CASE
        if not any(held):
            return Verdict.OUTDATED if once else Verdict.FALSE
        return Verdict.MISLEADING if self.reading and not self.reading.holds else Verdict.TRUE

    def _answers(self) -> list[str]:
        return [case.found for case in self.cases.values()]


def is_target(case: str) -> bool:
    """Whether a case is that of a target."""
    return case.partition(",")[0] in TARGETS


def only(holds: bool, evidence: str = "") -> Finding:  # noqa: FBT001 - a statement and its truth
    """Return the finding of a check with one case."""
    return Finding({"": Case(bool(holds), evidence)})


def cases(outcomes: Mapping[str, tuple[bool, str]]) -> Finding:
    """Return the finding of a check with several cases: what is found in each."""
    return Finding({name: Case(bool(holds), evidence) for name, (holds, evidence) in outcomes.items()})


def answers(answer_by_case: Mapping[str, str]) -> Finding:
    """Return the finding for a claim that is a question: its answer in each case."""
    return Finding({name: Case(None, answer) for name, answer in answer_by_case.items()})


def by_target(captures: Captures, look: Callable[[Capture], tuple[bool, str]]) -> Finding:
    """Return the finding of a check that looks at each target by itself.

    Raises:
        TargetUnavailableError: This machine cannot compile for one of them, so that nothing can be said of all.
    """
    return cases({target: look(captures[target]) for target in captures.targets})
