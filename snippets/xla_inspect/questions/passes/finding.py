"""The answer about a capture's recorded compile time, by pass, and the parts of the program that cause the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003
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
"""The number of rows that the longer and the shorter tables show."""

HERE, ELSEWHERE = "on this machine", "on the machine that dumped it, as far as the dump records it"


@dataclass(frozen=True)
class PassTime:
    """The total time of all runs of one pass in one pipeline.

    Attributes:
        name: The pass.
        pipeline: The pipeline that ran the pass.
        runs: The number of runs.
        changed: The number of runs that changed the module.
        seconds: The time without nested runs of other passes.
        share: The share of the total time, which includes tracing and lowering.
    """

    name: str
    pipeline: str
    runs: int
    changed: int
    seconds: float
    share: float


@dataclass(frozen=True)
class PassEffect:
    """The number of instructions in the module before and after one run of a pass that changed it."""

    name: str
    pipeline: str
    before: int
    after: int


@dataclass(frozen=True)
class CompileTimes(Answer):
    """The recorded time of one compilation by phase and pass, and the sizes of the program's parts.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The short name of the target.
        seconds: The time of tracing, lowering and compiling, on the machine that compiled.
        phases: The phases of the compilation in order, with their times in seconds.
        is_stepped: Whether the compiler dumped the module after each pass, which is part of the time.
        passes: The passes by pipeline, the longest first.
        effects: The module's size before and after each run that changed it, if `is_stepped` and requested.
        parts: The numbers of operations by module and named scope.
        constants: Large arrays that are part of the program.
        repeats: Lines of Python with several unrolled copies of their operations.
        error: The compiler's error message, or an empty string if it succeeded.
        limit: The number of rows of the longer tables, or 0 for all.
        where: The machine of the compilation, as text.
        stage: The last stage of the module that the capture contains.
        has_both: Whether the capture has the unoptimized module and a later one.
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
        """Yield the printed answer: a summary, tables of phases, passes and program parts, and remedies."""
        from xla_inspect.questions.passes.rendering import render

        return render(self)


def explain_passes(  # noqa: PLR0913 - the subject and the amount of detail
    program: str, capture: Capture, command_words: str, *, depth: int = 2, limit: int = FEW, changes: bool = True
) -> CompileTimes:
    """Return the recorded compile time of a capture by phase and pass, and the sizes of the program's parts.

    Args:
        program: The name of the program.
        capture: The program on one target. With its modules between passes, the answer can list the changes.
        command_words: The subject and options, as on the command line.
        depth: The number of levels of named scopes that separate parts of the program.
        limit: The number of rows of the longer tables, or 0 for all.
        changes: Whether to list the passes that changed the module.
    """
    times = capture.times
    # If the phases of the compiler are unknown, its time counts as one phase.
    phases = {"tracing": times.tracing, "lowering": times.lowering, **(times.phases or {"compiling": times.compiling})}
    total, stage = times.tracing + times.lowering + times.compiling, find_stage(capture)
    return CompileTimes(
        program=program,
        asked=command_words,
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
    runs, changes, seconds = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    # A capture may have the runs of the passes without their times.
    times = capture.times.passes or (0.0,) * len(capture.runs)
    for run, own in zip(capture.runs, times, strict=True):
        # A pass may run in several pipelines, where its cost differs.
        key = run.name, run.pipeline
        runs[key] += 1
        changes[key] += run.changed
        seconds[key] += own  # type: ignore[assignment]  # a counter of seconds
    return tuple(
        PassTime(*key, runs[key], changes[key], float(own), own / total if total else 0.0)
        for key, own in seconds.most_common()
    )


def _list_effects(capture: Capture) -> tuple[PassEffect, ...]:
    counts = capture.instruction_counts
    return tuple(
        PassEffect(change.name, change.pipeline, before, after)
        for change, before, after in zip(capture.passes, counts, counts[1:], strict=False)
    )
