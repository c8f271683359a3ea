"""Checks of prediction questions; each check raises an error that says how to mend the question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NoReturn

from xla_inspect.errors import TargetUnavailableError
from xla_inspect.targets import available

if TYPE_CHECKING:
    from collections.abc import Mapping

LENGTH_RATIO = 1.25
"""The largest allowed ratio of a question's longest reason to its shortest, because a longer reason looks right."""

_DIRECTIONS = {
    "most": re.compile(r"\b(?:most|more|largest|larger|longest|longer|highest|higher|greatest|biggest|bigger|last)\b"),
    "least": re.compile(r"\b(?:least|less|fewest|fewer|smallest|smaller|shortest|shorter|lowest|lower|first)\b"),
}


def raise_question_error(question: str, why: str) -> NoReturn:
    """Raise an error about a question, or about a missing target, without which a question may lack values."""
    for target, reason in available().items():
        if reason:
            raise TargetUnavailableError(target, reason)
    message = f'the question "{question}" has no single answer: {why}'
    raise ValueError(message)


def check_truth(question: str, holds: object) -> None:
    """Raise TypeError if a value that decides a question is not a truth value."""
    if not isinstance(holds, bool):
        message = f'the question "{question}" is decided by {holds!r}, which is neither True nor False: compare it'
        raise TypeError(message)


def check_reasons(question: str, reasons: Mapping[str, tuple[bool, str]]) -> None:
    """Raise an error if a false reason has no refutation of its own, or if the reasons differ too much in length."""
    refutations = [refutation for holds, refutation in reasons.values() if not holds]
    if not all(refutations) or len({*refutations}) < len(refutations):
        message = f'the question "{question}" has a wrong choice without a refutation of its own: say what refutes it'
        raise ValueError(message)
    ordered = sorted((len(reason.replace("`", "")), reason) for reason in reasons)
    (shortest, short), (longest, long) = ordered[0], ordered[-1]
    if longest > LENGTH_RATIO * shortest:
        message = (
            f'the question "{question}": the choice "{long}" has {longest} characters and "{short}" {shortest}: '
            f"make the longest at most {LENGTH_RATIO} times as long as the shortest"
        )
        raise ValueError(message)


def check_direction(question: str, pick: Literal["most", "least"]) -> None:
    """Raise an error if the words of a question ask for the opposite of `pick`."""
    directions = {name for name, words in _DIRECTIONS.items() if words.search(question.lower())}
    if directions and pick not in directions:
        message = f'the question "{question}" asks for the {min(directions)}, and `pick` is {pick}: change one of them'
        raise ValueError(message)
