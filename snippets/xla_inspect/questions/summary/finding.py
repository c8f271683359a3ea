"""The targets side by side, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage, model_launches, name_failure, show_place
from xla_inspect.answers import Answer, LineTotal, sum_scopes
from xla_inspect.questions.collectives import (
    Replication,
    find_exchanges,
)
from xla_inspect.questions.kernels import find_scope
from xla_inspect.questions.memory import ON_THE_WAY, ROLES, explain_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import Launched
    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture
    from xla_inspect.questions.collectives import Exchange
    from xla_inspect.questions.memory import MemoryUse


@dataclass(frozen=True)
class Largest:
    """One of the largest of its sort.

    Attributes:
        sort: `kernel`, `memory` or `collective`.
        name: The instruction, or what the memory is for.
        place: `file:line` where it comes from, or an empty string.
        bytes: What it reads and writes, holds, or sends.
        seconds: The least time under the roof, all runs together, or None where there is no roof.
    """

    sort: str
    name: str
    place: str
    bytes: int
    seconds: float | None


@dataclass(frozen=True)
class TargetSummary:
    """The result of one compiler for one device.

    Attributes:
        target: The target's short name, with its grid.
        kernels: Launches that compute, each body of a loop once.
        kinds: The kernels by kind: `kLoop`, `dot`, `custom-call`, ...
        copies: Launches that only move.
        collectives: Exchanges between devices.
        flops: Operations, those of a loop by its trips where the compiler knows them.
        moved_bytes: Bytes of main memory that launches read and write, loops likewise.
        peak_bytes: The most memory at once, by the executable.
        argument_bytes: What of it are arguments.
        temporary_bytes: What of it is neither arguments nor results, or None where no memory plan is at hand.
        output_bytes: Results that are not in the place of arguments.
        compile_seconds: What the compiler took, on the machine that compiled it; none where that is not to be told.
        largest: The three largest of each sort.
        error: What the compiler said where it gave up, or an empty string.
        stage: The stage of the module that is counted; where kernels are not decided, what is counted of them is None.
        instructions: The instructions of the module.
        replication: The arguments, results and work that several devices repeat, or None.
        scopes: By the sort of `largest`, the same by scope of the one line that has most, or of what has no line. Empty
            where neither has most, or those have one scope.
    """

    target: str
    kernels: int | None
    kinds: Mapping[str, int]
    copies: int | None
    collectives: int
    flops: float | None
    moved_bytes: int | None
    peak_bytes: int
    argument_bytes: int
    temporary_bytes: int | None
    output_bytes: int
    compile_seconds: float
    largest: tuple[Largest, ...]
    error: str
    stage: Stage
    instructions: int
    replication: Replication | None
    scopes: Mapping[str, tuple[LineTotal, ...]]


@dataclass(frozen=True)
class Summary(Answer):
    """The targets side by side.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        targets: One for each target.
    """

    program: str
    asked: str
    targets: tuple[TargetSummary, ...]

    @property
    def holds(self) -> bool:
        """True if each compiler made a program of it."""
        return not any(target.error for target in self.targets)

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the table, and what to ask."""
        from xla_inspect.questions.summary.rendering import render

        return render(self)


KINDS, LARGEST = 6, 3


def summarize(program: str, captures: Sequence[Capture], asked: str) -> Summary:
    """Return the summary of a program's captures.

    Args:
        program: The name of the program.
        captures: One for each target.
        asked: What was asked about, as on the command line.
    """
    return Summary(program, asked, tuple(map(_summarize, captures)))


def answer_dump(capture: Capture, asked: str) -> Summary:
    """Return the answer about a module of a dump."""
    return summarize(capture.program, [capture], asked)


def _summarize(capture: Capture) -> TargetSummary:
    launched = model_launches(capture) if capture.after else ()
    kernels = [each for each in launched if each.launch.role == "kernel"]
    kinds = Counter(each.launch.kind for each in kernels)
    exchanges = find_exchanges(capture.program, capture, {})
    told = explain_memory(capture, "")
    counted = told.stage.has_launches
    return TargetSummary(
        target=capture.target,
        kernels=len(kernels) if counted else None,
        kinds=dict(kinds.most_common()),
        copies=sum(each.launch.role == "copy" for each in launched) if counted else None,
        collectives=len(exchanges.exchanges) if capture.after else 0,
        flops=sum(each.work.flops * (each.launch.runs or 1) for each in launched) if counted else None,
        moved_bytes=sum(each.bytes * (each.launch.runs or 1) for each in launched) if counted else None,
        peak_bytes=told.needed_bytes,
        argument_bytes=told.sum_roles("argument"),
        temporary_bytes=None if told.gap else told.sum_roles(*ON_THE_WAY),
        output_bytes=told.sum_roles("result"),
        compile_seconds=0.0 if capture.is_dumped else capture.times.compiling,
        largest=(*_find_kernels(kernels), *_find_memory(told), *_find_collectives(exchanges.exchanges)),
        error=name_failure(capture),
        stage=told.stage,
        instructions=capture.module.instruction_count() if capture.after else 0,
        replication=exchanges.replication,
        scopes={
            "kernel": sum_scopes(list(_list_scopes(capture, kernels))),
            "memory": told.scopes,
            "collective": exchanges.scopes,
        },
    )


def _measure(each: Launched) -> tuple[float, int]:
    """Return the least time of all runs of a kernel, zero where there is no roof, and the bytes that they move."""
    runs = each.launch.runs or 1
    return (each.bound.seconds * runs if each.bound else 0.0, each.bytes * runs)


def _find_kernels(kernels: Sequence[Launched]) -> Iterator[Largest]:
    """Yield those that take longest at best, or move most where there is no roof."""
    for each in sorted(kernels, key=_measure, reverse=True)[:LARGEST]:
        seconds, moved = _measure(each)
        yield Largest("kernel", each.launch.name, _name_place(each), moved, seconds or None)


def _list_scopes(capture: Capture, kernels: Sequence[Launched]) -> Iterator[tuple[str, str, float]]:
    """Yield the line, the scope and the weight of each kernel."""
    has_roof = any(each.bound for each in kernels)
    for each in kernels:
        scope = find_scope(capture, each.launch.instruction).rpartition("/")[0]
        yield _name_place(each), scope, _measure(each)[not has_roof]


def _name_place(launched: Launched) -> str:
    return show_place(launched.lines[0]) if launched.lines else ""


def _find_memory(told: MemoryUse) -> Iterator[Largest]:
    for row in told.rows[:LARGEST]:
        yield Largest("memory", ROLES[row.role], row.place, row.bytes, None)


def _find_collectives(exchanges: Sequence[Exchange]) -> Iterator[Largest]:
    for each in sorted(exchanges, key=lambda each: -each.sent_bytes)[:LARGEST]:
        yield Largest("collective", each.kind, each.where if each.places else "", each.sent_bytes, None)
