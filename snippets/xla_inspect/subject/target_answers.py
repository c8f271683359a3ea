"""A question about one subject, answered for several targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.subject.subject import Subject


def answer_each[T](
    subject: Subject, targets: Sequence[str], ask: Callable[[str], T], *, can_refuse: bool = False
) -> Iterator[T]:
    """Yield the answer for each target as soon as it is available, and store errors in `subject.failures`.

    An error is raised if there is only one target, or if no target has an answer.

    Args:
        subject: The subject of the question.
        targets: The targets.
        ask: Returns the answer for one target.
        can_refuse: Whether to print an `InspectError`, such as for a missing name, after the other answers instead of
            storing it.
    """
    refused: list[InspectError] = []
    answered = False
    for target in targets:
        resolved = target if subject.call is None else subject.name_target(target)
        try:
            answer = ask(resolved)
        except Exception as error:
            # No other target's answer would be lost here.
            if len(targets) == 1:
                raise
            if can_refuse and isinstance(error, InspectError):
                refused.append(InspectError(f"{resolved}: {error}"))
            else:
                subject.failures[target] = error
        else:
            answered = True
            yield answer
    if not answered and (errors := [*refused, *subject.failures.values()]):
        raise errors[0]
    for refusal in refused:
        print_note(str(refusal))
