"""Changes of a program that were tried, not guessed: which of them change the answer to a question why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.questions.why.explanation import WhyTrial
from xla_inspect.questions.why.trial_effects import find_effect
from xla_inspect.subject import list_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """Return an answer with what each change that can be tried comes to.

    Args:
        subject: The program.
        target: The target that the answer is of.
        kinds: Which kinds of changes to try.
        finder: What answered.
        answer: The answer.
        apart: The two words that the question named, where it named two.

    Raises:
        InspectError: There is no program to change, or nothing that can be counted before and after.
    """
    if subject.call is None:
        message = f"{subject.name} is a capture that was saved: there is no program to compile with a change"
        raise InspectError(message)
    pair = finder.find_pair(*apart) if apart else ()
    effect = find_effect(finder.evidence, answer.findings[0], pair)
    if effect is None:
        message = f"nothing of {answer.what or 'it'} can be counted, so no change can be seen to change it"
        raise InspectError(message)
    tried = list(_try_kinds(subject, target, kinds, (finder.evidence.capture, effect, answer)))
    untried = tuple(kind for kind in kinds if kind not in {each.kind for each in tried})
    return answer.with_trials(tried, untried)


def _try_kinds(
    subject: Subject, target: str, kinds: Sequence[str], asked: tuple[Capture, Effect, Why]
) -> Iterator[WhyTrial]:
    capture, effect, answer = asked
    first = answer.findings[0]
    names = [first.pass_name, *(each.pass_name for each in first.reasons if each.verdict in {"done", "refused"})]
    trials: list[Trial] = []
    for kind in kinds:
        try:
            trials += list_trials(subject, (kind,), capture, passes=names, asked=True)
        except Exception as error:  # noqa: BLE001 - whatever is in the way of a kind, the others are tried
            yield WhyTrial(kind, f"changes of the kind {kind!r}", "failed", "", _say(error))
    for number, trial in enumerate(trials, 1):
        log.info("trying %d of %d: %s", number, len(trials), trial.change)
        try:
            yield effect.compare(capture, trial.capture(target), trial.kind, trial.change)
        except Exception as error:  # noqa: BLE001 - whatever is in the way of a change, the others are tried
            yield WhyTrial(trial.kind, trial.change, "failed", "", _say(error))


def _say(error: Exception) -> str:
    text = str(error) if isinstance(error, InspectError) else f"{type(error).__name__}: {error}"
    return text.partition("\n")[0]
