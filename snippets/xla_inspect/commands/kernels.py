"""`xla-inspect kernels SUBJECT [NAME]`: what is launched, its lines and work; with a profile, what took how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import USUAL_ROWS, list_kernels_of
from xla_inspect.commands import question
from xla_inspect.compilation import USUAL, count_registers
from xla_inspect.errors import InspectError, TargetUnavailableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer, Kernels
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject

__all__ = ["USUAL", "add_arguments", "ask", "take_names"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which launches are told."""
    which = parser.add_argument_group("which are shown")
    which.add_argument(
        "--kernel",
        metavar="NAME",
        action="append",
        default=[],
        help="tell this one in detail; may repeat, and may follow the subject without --kernel",
    )
    which.add_argument("--rows", metavar="N", type=int, default=USUAL_ROWS, help="how many (default: %(default)s)")
    which.add_argument("--all", action="store_true", help="all of them")


def take_names(options: argparse.Namespace) -> None:
    """Take the words after the subject for names of launches; those after a script are its own arguments."""
    if options.subject[0] != "run":
        options.kernel = [*options.kernel, *options.subject[1:]]
        options.subject = options.subject[:1]


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield an answer for each target.

    Raises:
        InspectError: No target has a launch that was named.
    """
    refused: list[InspectError] = []
    answered = False
    for capture in question.answer_each(subject, targets, subject.capture):
        try:
            yield _ask_one(subject, capture, options)
        except InspectError as error:
            # Compilers name their launches each in its own way: one of them may know the name.
            refused.append(InspectError(f"{capture.target}: {error}"))
        else:
            answered = True
    if refused and not answered:
        raise refused[0]
    for error in refused:
        question.say(str(error))


def _ask_one(subject: Subject, capture: Capture, options: argparse.Namespace) -> Kernels:
    def tell(registers: dict[str, tuple[int, int, int]], gap: str) -> Kernels:
        return list_kernels_of(
            subject.name,
            capture,
            " ".join(options.subject),
            names=options.kernel,
            shown=len(capture.after) if options.all else max(options.rows, 0),
            registers=registers,
            registers_gap=gap,
        )

    answer = tell({}, "")
    told = [row for row in answer.launches if row.name in answer.named] or answer.launches[: answer.shown]
    symbols = {row.symbol for row in told if row.symbol}
    if not symbols:
        return answer
    try:
        return tell(count_registers(capture, symbols), "")
    except TargetUnavailableError as error:
        return tell({}, f"Registers are not known here: {error.reason}.")
    except InspectError as error:
        return tell({}, f"Registers are not known: {error}.")
