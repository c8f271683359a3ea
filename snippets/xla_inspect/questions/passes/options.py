"""`xla-inspect passes`: compile time by pass, and the parts of the program that cause the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import subject as subjects
from xla_inspect.errors import InspectError
from xla_inspect.questions import passes as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture
    from xla_inspect.questions.passes.finding import CompileTimes
    from xla_inspect.subject import Subject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add to the parser the options `--all`, `--changes` and `--depth` for the amount of detail."""
    group = parser.add_argument_group("amount of detail")
    group.add_argument(
        "--all", action="store_true", help="show all passes and parts of the program, not only the largest"
    )
    group.add_argument(
        "--changes", action="store_true", help="also show the effect of each pass that changed the module"
    )
    group.add_argument(
        "--depth",
        metavar="N",
        type=int,
        default=2,
        help="separate parts of the program by N levels of named scopes (default: %(default)d)",
    )


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Return an iterator that compiles the program for each target and yields the answer about its compile time.

    Raises:
        InspectError: The depth is below one.
    """
    if options.depth < 1:
        message = f"--depth {options.depth}: parts of a program have at least one level; pass --depth 1 or more"
        raise InspectError(message)

    def answer(target: str) -> Answer:
        # Dumping the module after each pass takes time, so it is done only on request.
        capture = subject.capture(target, passes=options.changes, timed=True)
        limit = {"limit": 0} if options.all else {}
        return package.explain_passes(
            subject.name,
            capture,
            subjects.write_subject(options, target),
            depth=options.depth,
            changes=options.changes,
            **limit,
        )

    return subjects.answer_each(subject, targets, answer)


def passes(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "cpu",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> CompileTimes:
    """Return the compile time by phase and pass, and the changes of each pass. A function is compiled first.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: A short name, optionally with a topology.
        lines_of: As in `summary`.
        **arguments: As in `summary`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    capture = subjects.take_capture(fn, target, example_args, arguments, lines_of, passes=True)
    return package.explain_passes(capture.program, capture, "")
