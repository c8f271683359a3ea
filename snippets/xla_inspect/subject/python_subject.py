"""A function with its example arguments, or a capture, as Python code asks about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import use_lines_of
from xla_inspect.captured import Capture
from xla_inspect.compilation import begin_capture, describe_program

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
    """Return the capture that is asked about; where the compiler gives up, what it left, with `error`.

    Args:
        fn: A function, or a capture of it.
        target: A short name, with a topology where wanted.
        example_args: The positional arguments of the function.
        arguments: Other arguments of `capture`, and keyword arguments of the function.
        lines_of: The package whose lines are named, or an empty string.
        passes: Whether the module after each pass is kept.
        reasons: Whether what the compiler says of its reasons is kept.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: No such target, no line of the package, or arguments that do not go together.
    """
    if isinstance(fn, Capture):
        return use_lines_of(lines_of, fn)[0]
    given = dict(arguments)
    options = given.pop("options", None)
    program = describe_program(fn, example_args, given)
    try:
        made = begin_capture(program, target, options, passes=passes, timed=False, reasons=reasons)()
    except RuntimeError as error:
        left: Capture | None = getattr(error, "capture", None)
        if left is None:
            raise
        made = left
    return use_lines_of(lines_of, made)[0]
