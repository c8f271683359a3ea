"""Trials of changes to a program, compiled to see which of them alter a compiler decision."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.analysis.estimates import time_program
from xla_inspect.answers import explain_times
from xla_inspect.errors import InspectError
from xla_inspect.questions.why.explanation import WhyTrial
from xla_inspect.questions.why.trial_effects import find_effect
from xla_inspect.subject import list_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis.estimates import StepTime
    from xla_inspect.captured import Capture
    from xla_inspect.questions.why.explanation import Why
    from xla_inspect.questions.why.finding import WhyFinder
    from xla_inspect.questions.why.trial_effects import Effect
    from xla_inspect.subject import Subject, Trial

log = logging.getLogger(__name__)


def try_changes(  # noqa: PLR0913 - the program, the changes, and the question with its answer
    subject: Subject,
    target: str,
    kinds: Sequence[str],
    finder: WhyFinder,
    answer: Why,
    *,
    apart: tuple[str, str] | None = None,
) -> Why:
    """Compile the program with each change that applies, and return the answer with the outcomes of the changes.

    Args:
        subject: The program.
        target: The target of the answer.
        kinds: The kinds of changes to try.
        finder: The finder of the answer.
        answer: The answer.
        apart: The two parts of the question, if it has two.

    Raises:
        InspectError: There is no program to change, or nothing that can be counted before and after.
    """
    if subject.call is None:
        message = f"{subject.name} is a saved capture, which cannot be compiled with changes; pass the function itself"
        raise InspectError(message)
    pair = finder.find_pair(*apart) if apart else ()
    effect = find_effect(finder.evidence, answer.findings[0], pair)
    if effect is None:
        message = (
            f"the effect of changes on {answer.what or 'the program'} cannot be counted; ask about a kernel, a copy or "
            "a collective"
        )
        raise InspectError(message)
    capture = finder.evidence.capture
    steps = {capture.target: time_program(capture)}
    trials = list(_try_kinds(subject, target, kinds, (capture, effect, answer), steps))
    untried = tuple(kind for kind in kinds if kind not in {trial.kind for trial in trials})
    own = steps[capture.target]
    times = explain_times(steps) if any(trial.time for trial in trials) else ""
    return replace(answer.with_trials(trials, untried), time=own.seconds if own else None, times=times)


def _try_kinds(
    subject: Subject,
    target: str,
    kinds: Sequence[str],
    question: tuple[Capture, Effect, Why],
    steps: dict[str, StepTime | None],
) -> Iterator[WhyTrial]:
    """Yield the outcome of each change, and add the estimated time of each further target to `steps`."""
    capture, effect, answer = question
    first = answer.findings[0]
    # Switching off a pass can only have an effect if the pass made or refused the decision.
    names = [first.pass_name, *(reason.pass_name for reason in first.reasons if reason.verdict in {"done", "refused"})]
    trials: list[Trial] = []
    for kind in kinds:
        try:
            # Each kind is listed on its own, so that an error affects only this kind.
            trials += list_trials(subject, (kind,), capture, passes=names, asked=True)
        except Exception as error:  # noqa: BLE001 - a kind that fails for any reason must not stop the others
            yield WhyTrial(kind, f"changes of the kind {kind!r}", "failed", "", _say(error))
    for number, trial in enumerate(trials, 1):
        log.info("trying %d of %d: %s", number, len(trials), trial.change)
        try:
            changed = trial.capture(target)
            step = None if changed.error else time_program(changed)
            steps.setdefault(changed.target, step)
            outcome = effect.compare(capture, changed, trial.kind, trial.change)
            yield replace(outcome, time=step.seconds if step else None)
        except Exception as error:  # noqa: BLE001 - a change that fails for any reason must not stop the others
            yield WhyTrial(trial.kind, trial.change, "failed", "", _say(error))


def _say(error: Exception) -> str:
    text = str(error) if isinstance(error, InspectError) else f"{type(error).__name__}: {error}"
    return text.partition("\n")[0]
