"""`xla-inspect plan SUBJECT`: a search for the fastest variants of a training step that fit."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from xla_inspect import subject as subjects
from xla_inspect.analysis.estimates import find_rates
from xla_inspect.errors import InspectError
from xla_inspect.questions import plan as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.questions.plan.finding import StepPlan
    from xla_inspect.subject import Subject

USUAL = ("h100",)
MINUTES = 5.0
"""The default budget in minutes of processor time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the budget and the changes to try."""
    group = parser.add_argument_group("options of plan")
    group.add_argument(
        "--minutes",
        metavar="N",
        type=float,
        default=MINUTES,
        help="the budget in minutes of processor time (default: %(default)g); Ctrl-C ends the search earlier",
    )
    group.add_argument(
        "--try",
        dest="tried",
        metavar="CHANGE",
        default="all",
        help=f"combine only these kinds of changes, separated by commas: {', '.join(subjects.PLANNED)} (default: all); "
        "remat changes what jax.checkpoint saves; parameter changes a count that your function takes, such as chunks",
    )
    group.add_argument(
        "--vary",
        metavar="NAME=VALUES",
        action="append",
        default=[],
        help="values to try for a parameter of the function, such as chunks=1,4,16; repeatable",
    )


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[StepPlan]:
    """Yield the best plans of a program for each target.

    Raises:
        InspectError: A change is unknown, the subject cannot be compiled again, or a target has no estimate of time.
    """
    kinds = subjects.read_kinds(options.tried, known=subjects.PLANNED)
    own = _read_values(options.vary)

    def answer(target: str) -> StepPlan:
        _check(subject, target)
        words = subjects.write_subject(options, target)
        return package.search_plans(subject, target, kinds, own, minutes=options.minutes, command_words=words)

    yield from subjects.answer_each(subject, targets, answer)


def _check(subject: Subject, target: str) -> None:
    if subject.call is None:
        message = f"{subject.name} is {subject.origin}: plan compiles changed programs, so pass the function instead"
        raise InspectError(message)
    if find_rates(target) is None:
        message = (
            f"{target} has no estimate of time, so plan cannot compare programs; choose a GPU or TPU, such as h100"
        )
        raise InspectError(message)


def _read_values(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values to try by the name of a parameter, from texts such as `chunks=1,4,16`.

    Raises:
        InspectError: A text has another form.
    """
    values: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not (name.isidentifier() and equals and listed):
            message = f"--vary {text!r}: write a parameter with its values, such as chunks=1,4,16"
            raise InspectError(message)
        values[name] = [_read_value(value.strip()) for value in listed.split(",")]
    return values


def _read_value(text: str) -> Any:  # noqa: ANN401 - any constant
    try:
        return ast.literal_eval(text.capitalize() if text in {"true", "false", "none"} else text)
    except (ValueError, SyntaxError):
        return text


def plan(  # noqa: PLR0913 - one for each option of the command
    fn: Callable[..., Any],
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "h100",
    minutes: float = MINUTES,
    try_: str = "all",
    vary: Mapping[str, Sequence[Any]] | None = None,
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> StepPlan:
    """Search for the fastest variants of a training step that fit, by compiling those that a model finds promising.

    Args:
        fn: The function.
        *example_args: As in `summary`.
        target: A short name, optionally with a topology.
        minutes: The budget in minutes of processor time.
        try_: The kinds of changes to combine, as for `--try`.
        vary: Values to try for parameters of the function, by name.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`; or a change is unknown, or the target has no estimate of time.
    """
    kinds = subjects.read_kinds(try_, "try_", known=subjects.PLANNED)
    name = getattr(fn, "__name__", type(fn).__name__)
    subject = subjects.make_subject(name, fn, example_args, arguments, lines_of)
    target = subject.name_target(target)
    _check(subject, target)
    return package.search_plans(subject, target, kinds, vary or {}, minutes=minutes)
