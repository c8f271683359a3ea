"""Which questions a program raises: its copies, transposes, collectives and what its kernels exchange, by bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import FINAL, Stage
from xla_inspect.answers.answer import Answer, Hint
from xla_inspect.answers.moves import find_moved, is_move
from xla_inspect.answers.why import suggest_why
from xla_inspect.report import title
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import Launch
    from xla_inspect.answers.answer import Part
    from xla_inspect.answers.why_finding import WhyFinder


@dataclass(frozen=True)
class OpenQuestion:
    """A question that a program raises.

    Attributes:
        question: The question.
        where: The line of Python, as in `model.py:12`.
        bytes: The bytes of main memory, or between devices, that what it asks about moves in a run of the program.
        command: What asks it.
    """

    question: str
    where: str
    bytes: int
    command: str


@dataclass(frozen=True)
class OpenQuestions(Answer):
    """The questions that a program raises, those about what costs most first.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: What was asked about, as on the command line.
        questions: The questions.
        shown: How many of them are told.
        missing: What could not be known, and what to do about it.
        stage: The stage of the module that raises them.
    """

    program: str
    target: str
    asked: str
    questions: tuple[OpenQuestion, ...]
    shown: int
    missing: tuple[str, ...] = ()
    stage: Stage = FINAL

    def tell(self) -> Iterator[Part]:
        """Yield the questions, each with the command that asks it."""
        where = f"{self.stage.join(self.program)} on {title(self.target)}:"
        if not self.questions and not self.stage.has_launches:
            yield f"{where} no copies or collectives, and no kernels yet: there is nothing to ask why of."
            yield self.stage.explain()
            return
        if not self.questions:
            yield f"{where} one kernel and no copies or collectives: there is nothing to ask why of."
            return
        first = self.questions[0]
        yield f"{where} {first.question[0].lower()}{first.question[1:]} It moves {format_bytes(first.bytes)}, the most."
        for each in self.questions[: self.shown]:
            place = f" ({each.where})" if each.where else ""
            yield Hint(f"{format_bytes(each.bytes)}: {each.question}{place}", each.command)
        if left := len(self.questions) - self.shown:
            yield f"{left} more with --full."
        for missing in self.missing:
            yield Hint(missing)


FEW = 6
"""So many questions are told unless all are asked for."""


def list_open_questions(finder: WhyFinder, asked: str, *, full: bool = False) -> OpenQuestions:
    """Return the questions that a program raises, those about what moves most bytes first.

    Args:
        finder: What answers them.
        asked: What was asked about, as on the command line.
        full: Whether all are told.
    """
    capture = finder.evidence.capture
    found = sorted(_list_questions(finder, asked), key=lambda each: -each.bytes)
    shown = len(found) if full else min(len(found), FEW)
    return OpenQuestions(capture.program, capture.target, asked, tuple(found), shown, finder.missing(), finder.stage)


def _list_questions(finder: WhyFinder, asked: str) -> Iterator[OpenQuestion]:
    evidence = finder.evidence
    exchanges = {each.name: each for each in finder.exchanges}
    for launch in evidence.kernels.launches:
        runs = launch.runs or 1
        size = launch.instruction.shape.bytes
        where = evidence.show_line(evidence.kernels.hero(launch)).where
        exchange = exchanges.get(launch.scheduled.name) or exchanges.get(launch.name)
        if exchange is not None:
            yield OpenQuestion(
                f"Why is {launch.name} here, {_name_kind(exchange.kind)}?",
                exchange.where,
                exchange.total_bytes,
                suggest_why(asked, launch.scheduled.name),
            )
        elif is_move(evidence.kernels, launch):
            moved = find_moved(evidence, launch)
            yield OpenQuestion(
                f"Why is {launch.name} here, a {moved.opcode}?",
                evidence.show_line(moved).where,
                2 * size * runs,
                suggest_why(asked, launch.name),
            )
        elif launch.role == "kernel" and finder.stage.has_launches:
            for reader in evidence.kernels.readers(launch):
                if reader.role == "kernel" and not is_move(evidence.kernels, reader):
                    yield _ask_boundary(asked, launch, reader, where, 2 * size * runs)


def _ask_boundary(asked: str, launch: Launch, reader: Launch, where: str, moved: int) -> OpenQuestion:
    return OpenQuestion(
        f"Why are {launch.name} and {reader.name} two kernels?",
        where,
        moved,
        suggest_why(asked, f"{launch.name},{reader.name}", is_pair=True),
    )


def _name_kind(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
