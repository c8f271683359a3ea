"""The marks of an explorer on the passes that change bits, and on those whose modules did not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.questions.numbers.rendering import measure, name_origin, tell_limits

if TYPE_CHECKING:
    from typing import Any

    from xla_inspect.questions.numbers.finding import NumberChanges


def describe_marks(answer: NumberChanges) -> dict[str, Any]:
    """Return the marks on the passes for an explorer, as plain data.

    Returns:
        - `note`: sentences about all passes, the inputs, and what a run on this CPU does not show.
        - `states`: by the number of a state, the kind of its mark (`changed` or `missed`), a few words, and a sentence.
    """
    states: dict[int, tuple[str, str, str]] = {}
    for missed in answer.missed:
        whose = "The reason" if missed.modules == 1 else f"The reason for the first of {missed.modules} such modules"
        sentence = f"The module after this pass did not run. {whose}: {missed.reason}."
        states |= dict.fromkeys(missed.states, ("missed", "not run", sentence))
    for step in answer.steps:
        size = measure(step.difference)
        group = f"One of the {len(step.passes)} passes up to this one changes" if len(step.passes) > 1 else "It changes"
        sentence = f"{group} bits of output {step.difference.output}: {size}; begins at {name_origin(step.origin)}."
        states[step.states[-1]] = ("changed", f"changes bits: {size.partition(',')[0]}", sentence)
    first = next(iter(answer.tell()), "")
    note = " ".join([str(first), *answer.notes, answer.inputs, tell_limits(answer.target)])
    return {"note": note, "states": states}
