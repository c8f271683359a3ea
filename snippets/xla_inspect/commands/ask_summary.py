"""`xla-inspect SUBJECT`: the targets side by side, and what to ask next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import answers
from xla_inspect.commands import question
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer
    from xla_inspect.subject import Subject

__all__ = ["USUAL", "add_arguments", "ask"]


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Add nothing: it takes what all questions take."""


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield one answer for all targets."""
    captures = question.answer_each(subject, targets, subject.capture)
    yield answers.summarize(subject.name, list(captures), asked=question.retype(options))
