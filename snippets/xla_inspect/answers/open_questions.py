"""Which questions a program raises: its copies, transposes, collectives and the values between its kernels, by bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers.answer import suggest
from xla_inspect.answers.moves import find_moved, is_move
from xla_inspect.answers.why import OpenQuestion, OpenQuestions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import Launch
    from xla_inspect.answers.why_finding import WhyFinder

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
    return OpenQuestions(capture.program, capture.target, asked, tuple(found), shown, finder.missing())


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
                suggest("why", asked) + f" {launch.scheduled.name}",
            )
        elif is_move(evidence.kernels, launch):
            moved = find_moved(evidence, launch)
            yield OpenQuestion(
                f"Why is {launch.name} here, a {moved.opcode}?",
                evidence.show_line(moved).where,
                2 * size * runs,
                suggest("why", asked) + f" {launch.name}",
            )
        elif launch.role == "kernel":
            for reader in evidence.kernels.readers(launch):
                if reader.role == "kernel" and not is_move(evidence.kernels, reader):
                    yield _ask_boundary(asked, launch, reader, where, 2 * size * runs)


def _ask_boundary(asked: str, launch: Launch, reader: Launch, where: str, moved: int) -> OpenQuestion:
    return OpenQuestion(
        f"Why are {launch.name} and {reader.name} two kernels?",
        where,
        moved,
        suggest("why", asked, "--apart", f"{launch.name},{reader.name}"),
    )


def _name_kind(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
