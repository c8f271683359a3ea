"""`xla-inspect SUBJECT`: the comparison of targets, and the next commands to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import subject as subjects
from xla_inspect.questions import summary as package
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture
    from xla_inspect.questions.summary.finding import Summary
    from xla_inspect.subject import Subject


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield one answer that compares the program on all targets."""
    captures = subjects.answer_each(subject, targets, subject.capture)
    yield package.summarize(subject.name, list(captures), subjects.write_subject(options))


def summary(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    targets: Sequence[str] = USUAL,
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> Summary:
    """Compile a function for several targets, and return their kernels, bytes, flops, memory and collectives.

    Args:
        fn: A function, or a capture of it, which is not compiled again.
        *example_args: Its positional arguments: arrays, shapes, or pytrees of them.
        targets: Short names of the targets; not used for a capture.
        lines_of: A package or module, such as `flax.linen`. The answer shows its lines instead of your lines that call
            it.
        **arguments: Any other argument of `capture`, and keyword arguments of the function.

    Raises:
        TargetUnavailableError: This machine cannot compile for a target.
        InspectError: The target or an option is unknown, the package has no line in the program, or two arguments
            exclude each other.
    """
    # The help of the command must not import the package of captures.
    from xla_inspect.captured import Capture

    # A capture was compiled for one target and cannot be compiled again.
    targets = [fn.target] if isinstance(fn, Capture) else targets
    captures = [subjects.take_capture(fn, target, example_args, arguments, lines_of) for target in targets]
    return package.summarize(captures[0].program, captures, "")
