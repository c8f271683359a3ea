"""The comparison of targets: kernels, memory, collectives and work of one program."""

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
    """One of the largest kernels, memory uses or collectives.

    Attributes:
        sort: `kernel`, `memory` or `collective`.
        name: The instruction, or the purpose of the memory.
        place: `file:line` of its origin, or an empty string.
        bytes: The bytes that a kernel's runs read and write, that a memory use occupies, or that one run of a
            collective sends.
        seconds: The least time of a kernel's runs according to the roofline; None without one, or for other sorts.
    """

    sort: str
    name: str
    place: str
    bytes: int
    seconds: float | None


@dataclass(frozen=True)
class TargetSummary:
    """The compiled program for one target, on one device.

    Attributes:
        target: The target's short name, with its grid.
        kernels: The number of launches that compute. Each loop body counts once.
        kinds: The kernels by kind: `kLoop`, `dot`, `custom-call`, ...
        copies: The number of launches that only move data.
        collectives: The number of exchanges between devices.
        flops: Operations, where loops count with their trip counts if the compiler knows them.
        moved_bytes: Bytes of main memory that launches read and write, where loops count with their trip counts.
        peak_bytes: The executable's peak memory.
        argument_bytes: The bytes of arguments at the peak.
        temporary_bytes: The bytes at the peak that are neither arguments, results nor constants, or None without a
            memory plan.
        output_bytes: The bytes of results that do not reuse the memory of arguments.
        compile_seconds: The compile time on the machine that compiled, or 0 if times are omitted.
        largest: The three largest kernels, the three largest memory uses, and the three largest collectives.
        error: The compiler's error message, or an empty string if it succeeded.
        stage: The stage of the counted module. Before kernels are determined, the counts of launches are None.
        instructions: The number of instructions of the module.
        replication: The arguments, results and work that several devices replicate, or None.
        scopes: By the sort of `largest`, the totals by scope of the line with at least half of the amount. Launches or
            values without a line count as one line. Empty if no line has that share, or if it has only one scope.
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
    """The comparison of a program's targets.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        targets: One summary for each target.
    """

    program: str
    asked: str
    targets: tuple[TargetSummary, ...]

    @property
    def holds(self) -> bool:
        """True if the program compiles for every target."""
        return not any(target.error for target in self.targets)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a sentence about each target, tables that compare them, and next commands."""
        from xla_inspect.questions.summary.rendering import render

        return render(self)


KINDS, LARGEST = 6, 3


def summarize(program: str, captures: Sequence[Capture], command_words: str) -> Summary:
    """Return the comparison of a program's captures.

    Args:
        program: The name of the program.
        captures: One capture for each target.
        command_words: The subject and options, as on the command line.
    """
    return Summary(program, command_words, tuple(map(_summarize, captures)))


def answer_dump(capture: Capture, command_words: str) -> Summary:
    """Return the summary of a module of a dump, for its one target."""
    return summarize(capture.program, [capture], command_words)


def _summarize(capture: Capture) -> TargetSummary:
    launches = model_launches(capture) if capture.after else ()
    kernels = [launch for launch in launches if launch.launch.role == "kernel"]
    kinds = Counter(launch.launch.kind for launch in kernels)
    exchanges = find_exchanges(capture.program, capture, {})
    memory = explain_memory(capture, "")
    has_launches = memory.stage.has_launches
    return TargetSummary(
        target=capture.target,
        # Before fusion, the instructions are not launches and must not count as kernels.
        kernels=len(kernels) if has_launches else None,
        kinds=dict(kinds.most_common()),
        copies=sum(launch.launch.role == "copy" for launch in launches) if has_launches else None,
        collectives=len(exchanges.exchanges) if capture.after else 0,
        flops=sum(launch.work.flops * (launch.launch.runs or 1) for launch in launches) if has_launches else None,
        moved_bytes=sum(launch.bytes * (launch.launch.runs or 1) for launch in launches) if has_launches else None,
        peak_bytes=memory.needed_bytes,
        argument_bytes=memory.sum_roles("argument"),
        temporary_bytes=None if memory.gap else memory.sum_roles(*ON_THE_WAY),
        output_bytes=memory.sum_roles("result"),
        # The times in a dump may come from another machine, so the summary omits them.
        compile_seconds=0.0 if capture.is_dumped else capture.times.compiling,
        largest=(*_find_kernels(kernels), *_find_memory(memory), *_find_collectives(exchanges.exchanges)),
        error=name_failure(capture),
        stage=memory.stage,
        instructions=capture.module.instruction_count() if capture.after else 0,
        replication=exchanges.replication,
        scopes={
            "kernel": sum_scopes(list(_list_scopes(capture, kernels))),
            "memory": memory.scopes,
            "collective": exchanges.scopes,
        },
    )


def _measure(launch: Launched) -> tuple[float, int]:
    """Return the least seconds of all runs of a kernel by the roofline, or 0 without one, and the bytes they move."""
    runs = launch.launch.runs or 1
    return (launch.bound.seconds * runs if launch.bound else 0.0, launch.bytes * runs)


def _find_kernels(kernels: Sequence[Launched]) -> Iterator[Largest]:
    """Yield the kernels with the greatest least time, or with the most bytes if the target has no roofline."""
    for launch in sorted(kernels, key=_measure, reverse=True)[:LARGEST]:
        seconds, moved = _measure(launch)
        yield Largest("kernel", launch.launch.name, _name_place(launch), moved, seconds or None)


def _list_scopes(capture: Capture, kernels: Sequence[Launched]) -> Iterator[tuple[str, str, float]]:
    """Yield the line, the scope and the weight of each kernel: least seconds or, if no kernel has any, bytes."""
    # One table must not mix seconds and bytes, so bytes count only if no kernel has a least time.
    has_roof = any(launch.bound for launch in kernels)
    for launch in kernels:
        scope = find_scope(capture, launch.launch.instruction).rpartition("/")[0]
        yield _name_place(launch), scope, _measure(launch)[not has_roof]


def _name_place(launched: Launched) -> str:
    return show_place(launched.lines[0]) if launched.lines else ""


def _find_memory(memory: MemoryUse) -> Iterator[Largest]:
    for row in memory.rows[:LARGEST]:
        yield Largest("memory", ROLES[row.role], row.place, row.bytes, None)


def _find_collectives(exchanges: Sequence[Exchange]) -> Iterator[Largest]:
    for exchange in sorted(exchanges, key=lambda exchange: -exchange.sent_bytes)[:LARGEST]:
        yield Largest("collective", exchange.kind, exchange.where if exchange.places else "", exchange.sent_bytes, None)
