"""The time that each part of a compile took, and the parts of the program that make the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import FINAL, Stage, find_stage, name_failure
from xla_inspect.answers import Answer
from xla_inspect.questions.passes.program_parts import (
    LargeConstant,
    ProgramPart,
    RepeatedLine,
    count_parts,
    list_constants,
    list_repeats,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


FEW, SHORT = 12, 6
"""The number of rows that are shown of the longer tables, and of the shorter."""

HERE, ELSEWHERE = "on this machine", "where it was dumped, as far as it is recorded"


@dataclass(frozen=True)
class PassTime:
    """The time of one pass in one pipeline, all its runs together.

    Attributes:
        name: The pass.
        pipeline: The pipeline that ran it.
        runs: How often it ran.
        changed: How many of the runs changed the module.
        seconds: Without what ran inside it that is a run of its own.
        share: Of all of the compile, tracing and lowering among it.
    """

    name: str
    pipeline: str
    runs: int
    changed: int
    seconds: float
    share: float


@dataclass(frozen=True)
class PassEffect:
    """The change of the module's size by one run of a pass, in instructions."""

    name: str
    pipeline: str
    before: int
    after: int


@dataclass(frozen=True)
class CompileTimes(Answer):
    """The time of one compile by step, and by part of the program.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        target: The short name of the target.
        seconds: Tracing, lowering and compiling together, on the machine that compiled.
        phases: What they consist of, in order, in seconds.
        is_stepped: Whether the module was written after each pass, which took a part of the time.
        passes: Each pass by pipeline, the longest first.
        effects: What each run that changed the module did to its size, where `is_stepped`.
        parts: The program by module and named scope.
        constants: Large arrays that are a part of the program.
        repeats: Lines of Python whose operations are there several times, unrolled.
        error: What the compiler said where it gave up, or an empty string.
        limit: How many rows of the longer tables are told, 0 for all.
        where: On which machine that was, in words.
        stage: The stage of the module that the compile is known to have come to.
        has_both: Whether the module as the compiler got it and a later one are at hand.
    """

    program: str
    asked: str
    target: str
    seconds: float
    phases: Mapping[str, float]
    is_stepped: bool
    passes: tuple[PassTime, ...]
    effects: tuple[PassEffect, ...]
    parts: tuple[ProgramPart, ...]
    constants: tuple[LargeConstant, ...]
    repeats: tuple[RepeatedLine, ...]
    error: str
    limit: int = FEW
    where: str = HERE
    stage: Stage = FINAL
    has_both: bool = True

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the tables, and what would help."""
        from xla_inspect.questions.passes.rendering import render

        return render(self)


def explain_passes(  # noqa: PLR0913 - those of the question, and how much of it is told
    program: str, capture: Capture, asked: str, *, depth: int = 2, limit: int = FEW, changes: bool = True
) -> CompileTimes:
    """Return where the time of a capture's compile went.

    Args:
        program: The name of the program.
        capture: The program on one target; what changed the module is told where it holds the passes.
        asked: What was asked about, as on the command line.
        depth: How many levels of scopes parts of the program are told apart by.
        limit: How many rows of the longer tables are told, 0 for all.
        changes: Whether what changed the module is told.
    """
    times = capture.times
    phases = {"tracing": times.tracing, "lowering": times.lowering, **(times.phases or {"compiling": times.compiling})}
    total, stage = times.tracing + times.lowering + times.compiling, find_stage(capture)
    return CompileTimes(
        program=program,
        asked=asked,
        target=capture.target,
        seconds=total,
        phases=phases,
        is_stepped=capture.is_stepped,
        passes=_sum_passes(capture, total),
        effects=_list_effects(capture) if changes else (),
        parts=count_parts(capture, depth),
        constants=list_constants(capture),
        repeats=list_repeats(capture),
        error=name_failure(capture),
        limit=limit,
        where=ELSEWHERE if capture.is_dumped else HERE,
        stage=stage,
        has_both=not capture.is_dumped or (bool(capture.before) and stage.name != "before the optimizations"),
    )


def _sum_passes(capture: Capture, total: float) -> tuple[PassTime, ...]:
    runs, changed, seconds = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    taken = capture.times.passes or (0.0,) * len(capture.runs)
    for run, own in zip(capture.runs, taken, strict=True):
        key = run.name, run.pipeline
        runs[key] += 1
        changed[key] += run.changed
        seconds[key] += own  # type: ignore[assignment]  # a counter of seconds
    return tuple(
        PassTime(*key, runs[key], changed[key], float(own), own / total if total else 0.0)
        for key, own in seconds.most_common()
    )


def _list_effects(capture: Capture) -> tuple[PassEffect, ...]:
    counts = capture.instruction_counts
    return tuple(
        PassEffect(change.name, change.pipeline, before, after)
        for change, before, after in zip(capture.passes, counts, counts[1:], strict=False)
    )
