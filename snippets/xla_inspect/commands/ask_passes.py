"""`xla-inspect passes`: where the time of a compile goes, and which part of the program makes the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import answers
from xla_inspect.commands import question
from xla_inspect.errors import InspectError
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.subject import Subject

__all__ = ["USUAL", "add_arguments", "ask"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how much is told."""
    how = parser.add_argument_group("what is told")
    how.add_argument("--all", action="store_true", help="all passes and parts of the program, not the largest alone")
    how.add_argument("--changes", action="store_true", help="also what each pass that changed the module did")
    how.add_argument("--depth", metavar="N", type=int, default=2, help="levels of scopes (default: %(default)d)")


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield one answer for each target.

    Raises:
        InspectError: The depth is below one.
    """
    if options.depth < 1:
        message = f"--depth {options.depth}: parts of a program have one level at least; say --depth 1 or more"
        raise InspectError(message)

    def answer(target: str) -> Answer:
        capture = subject.capture(target, passes=options.changes, timed=True)
        limit = {"limit": 0} if options.all else {}
        return answers.explain_passes(
            subject.name,
            capture,
            question.retype(options, target),
            depth=options.depth,
            changes=options.changes,
            **limit,
        )

    return question.answer_each(subject, targets, answer)
