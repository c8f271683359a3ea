"""`xla-inspect memory`: what takes the memory of a device, whether it suffices, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import analysis, answers
from xla_inspect import subject as subjects
from xla_inspect.commands import question

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Answer, MemoryTrial, MemoryUse
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject

USUAL = ("h100", "tpu-v5e")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a row is of, and what is to be tried."""
    how = parser.add_argument_group("the question")
    how.add_argument("--by", choices=("line", "scope", "buffer"), default="line", help="a row for each (default: line)")
    how.add_argument(
        "--try",
        dest="tried",
        metavar="CHANGE",
        help=f"compile with changes that may help, and tell what they save: {', '.join(subjects.KINDS)}, or all",
    )


def ask(subject: Subject, targets: Sequence[str], options: argparse.Namespace) -> Iterator[Answer]:
    """Yield the answer for each target.

    Raises:
        InspectError: There is no such change to try.
    """
    kinds = subjects.read_kinds(options.tried, known=subjects.KINDS)

    def answer(target: str) -> Answer:
        capture = subject.capture(target)
        trials = list(_try(subject, target, kinds, capture)) if kinds else []
        asked = question.retype(options, target) if subject.call else ""
        return answers.explain_memory(capture, asked, by=options.by, trials=trials)

    yield from question.answer_each(subject, targets, answer)


def _try(subject: Subject, target: str, kinds: Sequence[str], capture: Capture) -> Iterator[MemoryTrial]:
    """Yield what each change that can be tried comes to."""
    for trial in subjects.list_trials(subject, kinds, capture):
        try:
            told: MemoryUse = answers.explain_memory(trial.capture(target), "")
        except Exception as error:  # noqa: BLE001 - whatever is in the way of a change, the others are tried
            text = f"{type(error).__name__}: {error}".partition("\n")[0]
            yield answers.MemoryTrial(trial.change, None, None, text)
        else:
            left = told.refusal.sentence if told.refusal and told.refusal.space != analysis.HBM else ""
            yield answers.MemoryTrial(trial.change, told.needed_bytes or None, told.fits, left)
