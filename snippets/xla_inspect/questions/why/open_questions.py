"""Questions that a program raises: its copies, transposes, collectives and what its kernels exchange, by bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import FINAL, Stage
from xla_inspect.answers import Answer, Hint
from xla_inspect.questions.why.explanation import suggest_why
from xla_inspect.questions.why.why_copied import find_moved, is_move
from xla_inspect.targets import title
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis import Launch
    from xla_inspect.answers import Part
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.why.finding import WhyFinder


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
        answer: The answer to the first of them, or an empty string.
        shown: How many of them are told.
        missing: What could not be known, and what to do about it.
        stage: The stage of the module that raises them.
    """

    program: str
    target: str
    asked: str
    questions: tuple[OpenQuestion, ...]
    answer: str
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
        moved = f"That moves {format_bytes(first.bytes)}, the most."
        yield f"{where} {first.question[0].lower()}{first.question[1:]} {moved} {self.answer}"
        for each in self.questions[: self.shown]:
            yield Hint(f"{format_bytes(each.bytes)}: {each.question}", each.command)
        if left := len(self.questions) - self.shown:
            yield f"{left} more with --full."
        for missing in self.missing:
            yield Hint(missing)


_PREFETCH = "a copy-start of"
"""The question about a copy into memory on the chip, which runs beside kernels and that a program seldom can avoid."""
FEW = 6
"""So many questions are told unless all are asked for."""


def list_open_questions(finder: WhyFinder, asked: str, *, full: bool = False) -> OpenQuestions:
    """Return the questions that a program raises, those about what moves most bytes first, prefetches last.

    Args:
        finder: What answers them.
        asked: What was asked about, as on the command line.
        full: Whether all are told.
    """
    capture = finder.evidence.capture
    pairs = sorted(_list_questions(finder, asked), key=lambda pair: (_PREFETCH in pair[0].question, -pair[0].bytes))
    questions = tuple(question for question, _ in pairs)
    shown = len(questions) if full else min(len(questions), FEW)
    answer = _answer(finder, pairs[0][1]) if pairs else ""
    missing, stage = finder.missing(), finder.stage
    return OpenQuestions(capture.program, capture.target, asked, questions, answer, shown, missing, stage)


def _answer(finder: WhyFinder, names: Sequence[str]) -> str:
    """Return the answer about one instruction, or about two that are apart."""
    findings, _ = finder.explain(names[0]) if len(names) == 1 else finder.explain_apart(names[0], names[1])
    return findings[0].verdict


def _label(finder: WhyFinder, instruction: Instruction, name: str) -> str:
    """Return a value by its variable and line, as in "`scores` (model.py:12)", or by its line, or else by a name."""
    where = finder.evidence.show_line(instruction).where
    variable = finder.selector.find_variable(instruction)
    return f"`{variable}` ({where})" if variable else where or name


def _list_questions(finder: WhyFinder, asked: str) -> Iterator[tuple[OpenQuestion, tuple[str, ...]]]:
    """Yield questions, each with the names of the instructions that it is about."""
    evidence = finder.evidence
    exchanges = {each.name: each for each in finder.exchanges}
    for launch in evidence.kernels.launches:
        size = 2 * launch.instruction.shape.bytes * (launch.runs or 1)
        exchange = exchanges.get(launch.scheduled.name) or exchanges.get(launch.name)
        if exchange is not None:
            question = f"Why is {_name_kind(exchange.kind)} of {exchange.where} here?"
            name = launch.scheduled.name
            command = suggest_why(asked, name)
            yield OpenQuestion(question, exchange.where, exchange.total_bytes, command), (name,)
        elif is_move(evidence.kernels, launch):
            moved = find_moved(evidence, launch)
            question = f"Why is {_name_kind(moved.opcode)} of {_label(finder, moved, launch.name)} here?"
            where = evidence.show_line(moved).where
            yield OpenQuestion(question, where, size, suggest_why(asked, launch.name)), (launch.name,)
        elif launch.role == "kernel" and finder.stage.has_launches:
            for reader in evidence.kernels.readers(launch):
                if reader.role == "kernel" and not is_move(evidence.kernels, reader):
                    yield _ask_boundary(finder, asked, (launch, reader), size)


def _ask_boundary(
    finder: WhyFinder, asked: str, pair: tuple[Launch, Launch], size: int
) -> tuple[OpenQuestion, tuple[str, ...]]:
    lined = finder.evidence.lines
    heroes = [each.instruction if each.instruction in lined else finder.evidence.kernels.hero(each) for each in pair]
    names = tuple(each.name for each in pair)
    labels = [_label(finder, *each) for each in zip(heroes, names, strict=True)]
    question = f"Why are {labels[0]} and {labels[1]} two kernels?"
    short, long = sorted(labels, key=len)
    if short in long:
        question = f"Why is {long} computed by two kernels?"
    where = finder.evidence.show_line(heroes[0]).where
    return OpenQuestion(question, where, size, suggest_why(asked, ",".join(names), is_pair=True)), names


def _name_kind(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
