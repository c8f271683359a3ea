"""The open questions about a program: its copies, transposes, collectives and values between kernels, by bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import FINAL, Stage
from xla_inspect.answers import Answer, Hint
from xla_inspect.plural import plural
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
    """A question about a program that a user may want to ask, with the command that answers it.

    Attributes:
        question: The question.
        where: The line of Python, as in `model.py:12`.
        bytes: The bytes that its subject moves in a run of the program, in main memory or between devices.
        command: The command that answers it.
    """

    question: str
    where: str
    bytes: int
    command: str


@dataclass(frozen=True)
class OpenQuestions(Answer):
    """The open questions about a program, the most expensive first.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: The subject and options, as on the command line.
        questions: The questions.
        answer: The answer to the first of them, or an empty string.
        shown: The number of questions to show.
        missing: Information that is not available, and how to get it.
        stage: The stage of the module.
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
        """Yield the printed answer: the largest question with its answer, then all questions with their commands."""
        where = f"{self.stage.join(self.program)} on {title(self.target)}:"
        if not self.questions and not self.stage.has_launches:
            yield f"{where} no copies, no collectives and no kernels yet, so there are no open questions."
            yield self.stage.explain()
            return
        if not self.questions:
            yield f"{where} no kernel reads another's result, and there are no copies and no collectives, so {_NONE}."
            return
        first = self.questions[0]
        yield f"{where} the first open question is about {format_bytes(first.bytes)}. {first.question} {self.answer}"
        for question in self.questions[: self.shown]:
            yield Hint(f"{format_bytes(question.bytes)}: {question.question}", question.command)
        if omitted := len(self.questions) - self.shown:
            yield f"{plural(omitted, 'more question')} not shown; --full shows all of them."
        for missing in self.missing:
            yield Hint(missing)


_NONE = "there are no open questions"
_PREFETCH = "a copy-start of"
"""The subject of a question about a prefetch into on-chip memory, which overlaps with kernels and is hard to avoid."""
FEW = 6
"""The number of questions that are shown by default."""


def list_open_questions(finder: WhyFinder, command_words: str, *, full: bool = False) -> OpenQuestions:
    """Return a program's open questions, most bytes first but prefetches last, with the answer to the first.

    Args:
        finder: The finder of explanations.
        command_words: The subject and options, as on the command line.
        full: Whether to show all questions.
    """
    capture = finder.evidence.capture
    # Prefetches come last, because the compiler adds them to hide latency, not because of the program.
    pairs = sorted(
        _list_questions(finder, command_words), key=lambda pair: (_PREFETCH in pair[0].question, -pair[0].bytes)
    )
    questions = tuple(question for question, _ in pairs)
    row_count = len(questions) if full else min(len(questions), FEW)
    answer = _answer(finder, pairs[0][1]) if pairs else ""
    missing, stage = finder.missing(), finder.stage
    return OpenQuestions(capture.program, capture.target, command_words, questions, answer, row_count, missing, stage)


def _answer(finder: WhyFinder, names: Sequence[str]) -> str:
    """Return the first verdict about one named instruction, or about two separate kernels."""
    findings, _ = finder.explain(names[0]) if len(names) == 1 else finder.explain_apart(names[0], names[1])
    return findings[0].verdict


def _label(finder: WhyFinder, instruction: Instruction, name: str) -> str:
    """Return the label of a value: its variable and line, as in "`scores` (model.py:12)", or its line, or a name."""
    where = finder.evidence.show_line(instruction).where
    variable = finder.selector.find_variable(instruction)
    return f"`{variable}` ({where})" if variable else where or name


def _list_questions(finder: WhyFinder, command_words: str) -> Iterator[tuple[OpenQuestion, tuple[str, ...]]]:
    """Yield the open questions in schedule order, each with the names of its one or two instructions."""
    evidence = finder.evidence
    exchanges = {exchange.name: exchange for exchange in finder.exchanges}
    for launch in evidence.kernels.launches:
        # A value between two launches is written once and read at least once in each run.
        size = 2 * launch.instruction.shape.bytes * launch.assumed_runs
        # An asynchronous collective is listed under the name of its start, and any other under its own name.
        exchange = exchanges.get(launch.scheduled.name) or exchanges.get(launch.name)
        if exchange is not None:
            question = f"Why is {_name_kind(exchange.kind)} of {exchange.where} here?"
            name = launch.scheduled.name
            command = suggest_why(command_words, name)
            yield OpenQuestion(question, exchange.where, exchange.total_bytes, command), (name,)
        elif is_move(evidence.kernels, launch):
            moved = find_moved(evidence, launch)
            question = f"Why is {_name_kind(moved.opcode)} of {_label(finder, moved, launch.name)} here?"
            where = evidence.show_line(moved).where
            yield OpenQuestion(question, where, size, suggest_why(command_words, launch.name)), (launch.name,)
        elif launch.role == "kernel" and finder.stage.has_launches:
            for reader in evidence.kernels.readers(launch):
                # Copies and collectives have questions of their own.
                if reader.role == "kernel" and not is_move(evidence.kernels, reader):
                    yield _ask_boundary(finder, command_words, (launch, reader), size)


def _ask_boundary(
    finder: WhyFinder, command_words: str, pair: tuple[Launch, Launch], size: int
) -> tuple[OpenQuestion, tuple[str, ...]]:
    lines = finder.evidence.lines
    heroes = [
        launch.instruction if launch.instruction in lines else finder.evidence.kernels.hero(launch) for launch in pair
    ]
    names = tuple(launch.name for launch in pair)
    labels = [_label(finder, *pairing) for pairing in zip(heroes, names, strict=True)]
    question = f"Why are {labels[0]} and {labels[1]} two kernels?"
    short, long = sorted(labels, key=len)
    # Two kernels on the same line have the same label, which must not appear twice in the question.
    if short in long:
        question = f"Why is {long} computed by two kernels?"
    where = finder.evidence.show_line(heroes[0]).where
    return OpenQuestion(question, where, size, suggest_why(command_words, ",".join(names), is_pair=True)), names


def _name_kind(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
