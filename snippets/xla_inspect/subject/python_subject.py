"""A function with example arguments, or a capture, as the subject of a question from Python code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import use_lines_of
from xla_inspect.captured import Capture
from xla_inspect.compilation import JIT_OPTIONS, begin_capture, describe_program
from xla_inspect.subject.subject import Call, Subject

if TYPE_CHECKING:
    from collections.abc import Callable


def take_capture(  # noqa: PLR0913 - what is compiled for what, and how much of it is kept
    fn: Callable[..., Any] | Capture,
    target: str,
    example_args: tuple[Any, ...],
    arguments: dict[str, Any],
    lines_of: str,
    *,
    passes: bool = False,
    reasons: bool = False,
) -> Capture:
    """Return the capture of a subject; if the compiler failed, the partial capture with `error` set.

    Args:
        fn: A function to compile, or a capture, which is used as it is.
        target: A short name, optionally with a topology.
        example_args: The positional arguments of the function.
        arguments: Other arguments of `capture`, and keyword arguments of the function.
        lines_of: The package whose source lines are reported, or an empty string.
        passes: Whether to store the module after each pass.
        reasons: Whether to store the compiler's log of its decisions.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The target does not exist, no line of the package is in the program, or the arguments contradict
            each other.
    """
    if isinstance(fn, Capture):
        return use_lines_of(lines_of, fn)[0]
    remaining = dict(arguments)
    options = remaining.pop("options", None)
    program = describe_program(fn, example_args, remaining)
    try:
        result = begin_capture(program, target, options, passes=passes, timed=False, reasons=reasons)()
    except RuntimeError as error:
        partial: Capture | None = getattr(error, "capture", None)
        if partial is None:
            raise
        result = partial
    return use_lines_of(lines_of, result)[0]


def make_subject(
    name: str, fn: Callable[..., Any], example_args: tuple[Any, ...], arguments: dict[str, Any], lines_of: str
) -> Subject:
    """Return a function with example arguments as a subject, which can be compiled with changes.

    Args:
        name: The name in answers.
        fn: The function.
        example_args: As in `take_capture`.
        arguments: As in `take_capture`.
        lines_of: As in `take_capture`.
    """
    # The options of the call change the program, and the other keywords are arguments of the function.
    settings = {own: arguments[own] for own in (*JIT_OPTIONS, "mesh", "specs") if own in arguments}
    keywords = {own: value for own, value in arguments.items() if own not in {*settings, "options"}}
    call = Call(fn, example_args, keywords, settings)
    return Subject(name, call, options=arguments.get("options"), lines_of=lines_of)
