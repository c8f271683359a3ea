"""`xla-inspect collectives`: the data that devices send each other, by line, and the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import subject as subjects
from xla_inspect.questions import collectives as package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture
    from xla_inspect.questions.collectives.finding import Exchanges
    from xla_inspect.subject import Subject


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield the answer about a program's collectives for each target."""
    del options
    yield from subjects.answer_each(
        subject, targets, lambda target: package.find_exchanges(subject.name, subject.capture(target), subject.axes)
    )


def collectives(
    fn: Callable[..., Any] | Capture,
    *example_args: Any,  # noqa: ANN401 - any arguments that the function accepts
    target: str = "cpu:8",
    lines_of: str = "",
    **arguments: Any,  # noqa: ANN401 - any arguments that the function accepts
) -> Exchanges:
    """Return the collectives of a program: lines, bytes, mesh axes and reasons. A function is compiled first.

    Args:
        fn: A function, or a capture of it.
        *example_args: As in `summary`.
        target: The short name of a target with as many devices as the mesh.
        lines_of: As in `summary`.
        **arguments: As in `summary`; `mesh` and `specs` shard the program.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: As in `summary`.
    """
    capture = subjects.take_capture(fn, target, example_args, arguments, lines_of)
    return package.find_exchanges(capture.program, capture, arguments.get("mesh") or {})
