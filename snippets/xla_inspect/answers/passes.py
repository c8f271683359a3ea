"""Where the time of a compile goes: tracing, passes, code generation; and which part of the program makes the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import FINAL, Stage, find_stage, name_failure
from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Hint, Table, suggest
from xla_inspect.answers.program_parts import (
    LargeConstant,
    ProgramPart,
    RepeatedLine,
    count_parts,
    list_constants,
    list_repeats,
)
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_duration, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers.answer_parts import Part
    from xla_inspect.captured import Capture

FEW, SHORT = 12, 6
"""How many rows of the longer tables are shown, and of the shorter."""

HERE, ELSEWHERE = "on this machine", "where it was dumped, as far as it is recorded"

# Of which share of the whole, and above how many seconds, a cost is worth a word.
_SHARE, _SECONDS, _REPEATS = 0.1, 0.5, 4
_LARGE = 1 << 20
_NAME = 42


@dataclass(frozen=True)
class PassTime:
    """What one pass took in one pipeline, all its runs together.

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
    """What one run of a pass did to the size of the module, in instructions."""

    name: str
    pipeline: str
    before: int
    after: int


@dataclass(frozen=True)
class CompileTimes(Answer):
    """Where the time of one compile went, and what of the program it went into.

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

    @property
    def holds(self) -> bool:
        """Whether the compiler made a program of it."""
        return not self.error

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the tables, and what would help."""
        yield self._say()
        if self.seconds:
            yield from self._tell_times()
        yield from self._tell_effects()
        yield from self._tell_parts()
        yield from self._tell_constants()
        yield from self._advise()

    def _tell_times(self) -> Iterator[Part]:
        if self.is_stepped:
            yield "The times hold the writing of the module after each pass, without which a compile is shorter."
        rows = [(name, format_duration(taken), _percent(taken, self.seconds)) for name, taken in self.phases.items()]
        rows = [row for row, taken in zip(rows, self.phases.values(), strict=True) if taken or self.where == HERE]
        yield Table(("phase", "time", "share"), tuple(rows), (1, 2), f"Where the time goes, {self.where}")
        if self.where == HERE:
            yield "The start of Python, JAX and the compiler is not included."
        yield from self._tell_passes()

    def _say(self) -> str:
        if not (self.seconds or self.has_both):
            counted = plural(sum(part.after for part in self.parts), "instruction")
            said = f"{self.stage.join(self.program)} for {title(self.target)}: {counted} of HLO. "
            return (
                f"{said}{'' if self.stage.is_final else self.stage.explain() + ' '}What passes did to it is not known."
            )
        if not self.seconds:
            before, after = (sum(getattr(part, name) for part in self.parts) for name in ("before", "after"))
            name = self.stage.join(self.program)
            return f"{name} for {title(self.target)}: {before:,} instructions of HLO became {after:,}."
        ranked = sorted(self.phases.items(), key=lambda item: -item[1])
        where = ", ".join(f"{name} {_percent(taken, self.seconds)}" for name, taken in ranked[:4] if taken)
        verb = "gave up after" if self.error else "took"
        said = (
            f"{self.program} for {title(self.target)}: the compile {verb} {format_duration(self.seconds)} {self.where}"
        )
        said = f"{said}: {where}." if where else f"{said}."
        return f"{said} It does not compile: {self.error}." if self.error else said

    def _cut(self, rows: Sequence[tuple[str, ...]], least: int = FEW) -> tuple[tuple[str, ...], ...]:
        return tuple(rows[: min(self.limit, least)] if self.limit else rows)

    def _tell_passes(self) -> Iterator[Part]:
        if not any(each.seconds for each in self.passes):
            yield "What single passes took was not recorded."
            return
        rows = [
            (
                format_duration(each.seconds),
                _percent(each.seconds, self.seconds),
                str(each.runs),
                str(each.changed),
                shorten(f"{each.name} ({each.pipeline})", _NAME),
            )
            for each in self.passes
        ]
        columns = ("time", "share", "runs", "changed", "pass (pipeline)")
        shown = self._cut(rows)
        counted = f"{len(shown)} of {len(rows)}, the longest" if len(shown) < len(rows) else "all"
        yield Table(columns, shown, (0, 1, 2, 3), f"Passes: {counted}")

    def _tell_effects(self) -> Iterator[Part]:
        if not self.effects:
            return
        rows = [
            (str(number), str(each.before), str(each.after), shorten(f"{each.name} ({each.pipeline})", _NAME))
            for number, each in enumerate(self.effects, 1)
        ]
        columns = ("", "before", "after", "pass (pipeline)")
        yield Table(columns, tuple(rows), (0, 1, 2), "What changed the module, by instructions")

    def _tell_parts(self) -> Iterator[Part]:
        rows = [
            (
                *(str(number) for number in (part.equations, part.operations, part.before, part.after)),
                str(part.repeats) if part.repeats > 1 else "",
                shorten(part.path or "(none: parameters and the like)", _NAME - 10),
            )
            for part in self.parts
        ]
        last = "optimized" if self.stage.is_final else "this module"
        columns = ("jaxpr", "StableHLO", "HLO", last, "times", "part of the program")
        # A stage that is not told has no operations in any part, and a module that is the only one is told once.
        hidden = set() if self.has_both else {2}
        hidden |= {at for at in range(4) if all(row[at] == "0" for row in rows)}
        known = [at for at in range(len(columns)) if at not in hidden]
        shown = tuple(tuple(row[at] for at in known) for row in self._cut(rows))
        title = "Operations by part of the program"
        yield Table(tuple(columns[at] for at in known), shown, tuple(range(len(known) - 1)), title)
        repeated = [
            (str(line.times), str(line.operations), line.place, shorten(line.text, _NAME)) for line in self.repeats
        ]
        if repeated:
            yield Table(
                ("times", "operations", "line", ""), self._cut(repeated, SHORT), (0, 1), "The same line many times"
            )

    def _tell_constants(self) -> Iterator[Part]:
        if not self.constants:
            return
        rows = [
            (format_bytes(each.bytes), shorten(each.type, 24), each.place or "unknown", each.origin)
            for each in self.constants
        ]
        title_ = "Arrays of more than 1 KiB that are a part of the program"
        yield Table(("size", "array", "line", "where from"), self._cut(rows, SHORT), (0,), title_)

    def _advise(self) -> Iterator[Part]:
        for words, text in _SUSPECTS.items():
            taken = sum(each.seconds for each in self.passes if any(word in each.name for word in words))
            if taken > _SECONDS and taken > _SHARE * self.seconds:
                yield Hint(text.format(time=format_duration(taken)))
        large = [each for each in self.constants if each.bytes >= _LARGE]
        if large:
            total = format_bytes(sum(each.bytes for each in large))
            yield Hint(f"{total} of constants are compiled in: pass such arrays as arguments, and nothing folds them.")
        unrolled = [part for part in self.parts if part.repeats >= _REPEATS]
        if unrolled:
            most = max(unrolled, key=lambda part: part.before)
            yield Hint(
                f"{most.path} is there {most.repeats} times: jax.lax.scan over stacked parameters compiles it once."
            )
        if not self.effects and self.has_both:
            yield Hint("What each pass changed:", suggest("passes", self.asked, "--changes"))


_SUSPECTS = {
    ("constant_folding", "constant-folding"): (
        "Constant folding took {time}: what is computed from constants alone is computed by the compiler; "
        "pass the arrays as arguments, or compute them before."
    ),
    ("config-assigner", "autotuner", "algorithm-picker"): (
        "Choosing among kernels took {time}: the compiler makes candidates of code for matmuls."
    ),
}


def _percent(part: float, whole: float) -> str:
    return format_share(part / whole if whole else 0.0)


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
