"""The comparison of targets: kernels, memory, collectives and work of one program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage, list_unknown_work, model_launches, name_failure, show_place
from xla_inspect.analysis.estimates import Estimate, time_program
from xla_inspect.answers import Answer, LineTotal, explain_times, sum_scopes
from xla_inspect.questions.collectives import Replication, find_exchanges
from xla_inspect.questions.kernels import find_scope
from xla_inspect.questions.memory import ON_THE_WAY, ROLES, explain_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.analysis import Launched
    from xla_inspect.analysis.estimates import StepTime
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
        seconds: The estimated time of all runs of a kernel or a collective that nothing else overlaps, or None.
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
        unknown_work: The targets of the library calls whose operations `flops` leaves out, because they are not known.
        time: The estimated time of the program in seconds with its range, or None, as for a CPU.
        moved_bytes: Bytes of main memory that launches read and write, where loops count with their trip counts.
        has_unknown_runs: Whether the number of runs of a launch is unknown, because of a loop or a branch around it.
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
        constraints: Sentences about each `with_sharding_constraint` that pads a value or has no effect.
        scopes: By the sort of `largest`, the totals by scope of the line with at least half of the amount. Launches or
            values without a line count as one line. Empty if no line has that share, or if it has only one scope.
    """

    target: str
    kernels: int | None
    kinds: Mapping[str, int]
    copies: int | None
    collectives: int
    flops: float | None
    unknown_work: tuple[str, ...]
    time: Estimate | None
    moved_bytes: int | None
    has_unknown_runs: bool
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
    constraints: tuple[str, ...]
    scopes: Mapping[str, tuple[LineTotal, ...]]


@dataclass(frozen=True)
class Summary(Answer):
    """The comparison of a program's targets.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        targets: One summary for each target.
        times: The limits of the estimated times, or an empty string without them.
    """

    program: str
    asked: str
    targets: tuple[TargetSummary, ...]
    times: str

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
    """Return the comparison of a program's captures, of which there is one for each target."""
    steps = [None if capture.error else time_program(capture) for capture in captures]
    return Summary(
        program,
        command_words,
        tuple(map(_summarize, captures, steps)),
        explain_times({capture.target: step for capture, step in zip(captures, steps, strict=True)}),
    )


def answer_dump(capture: Capture, command_words: str) -> Summary:
    """Return the summary of a module of a dump, for its one target."""
    return summarize(capture.program, [capture], command_words)


def _summarize(capture: Capture, step: StepTime | None) -> TargetSummary:
    times = {name: one.total.likely for name, one in step.by_name.items()} if step else {}
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
        flops=sum(launch.total_flops for launch in launches) if has_launches else None,
        unknown_work=list_unknown_work(launches),
        time=step.seconds if step else None,
        moved_bytes=sum(launch.total_bytes for launch in launches) if has_launches else None,
        has_unknown_runs=any(launch.launch.runs is None for launch in launches),
        peak_bytes=memory.needed_bytes,
        argument_bytes=memory.sum_roles("argument"),
        temporary_bytes=None if memory.gap else memory.sum_roles(*ON_THE_WAY),
        output_bytes=memory.sum_roles("result"),
        # The times in a dump may come from another machine, so the summary omits them.
        compile_seconds=0.0 if capture.is_dumped else capture.times.compiling,
        largest=(
            *_find_kernels(kernels, times),
            *_find_memory(memory),
            *_find_collectives(exchanges.exchanges),
        ),
        error=name_failure(capture),
        stage=memory.stage,
        instructions=capture.module.instruction_count() if capture.after else 0,
        replication=exchanges.replication,
        constraints=exchanges.constraints,
        scopes={
            "kernel": sum_scopes(list(_list_scopes(capture, kernels, times))),
            "memory": memory.scopes,
            "collective": exchanges.scopes,
        },
    )


def _measure(launch: Launched, times: Mapping[str, float]) -> tuple[float, int]:
    """Return the estimated seconds of all runs of a kernel, or 0 without an estimate, and the bytes they move."""
    return times.get(launch.launch.name, 0.0), launch.total_bytes


def _find_kernels(kernels: Sequence[Launched], times: Mapping[str, float]) -> Iterator[Largest]:
    """Yield the kernels with the greatest estimated time, or with the most bytes if the target has no estimate."""
    for launch in sorted(kernels, key=lambda launch: _measure(launch, times), reverse=True)[:LARGEST]:
        seconds, moved = _measure(launch, times)
        yield Largest("kernel", launch.launch.name, _name_place(launch), moved, seconds or None)


def _list_scopes(
    capture: Capture, kernels: Sequence[Launched], times: Mapping[str, float]
) -> Iterator[tuple[str, str, float]]:
    """Yield the line, the scope and the weight of each kernel: estimated seconds or, without an estimate, bytes."""
    for launch in kernels:
        scope = find_scope(capture, launch.launch.instruction).rpartition("/")[0]
        # One table must not mix seconds and bytes.
        yield _name_place(launch), scope, _measure(launch, times)[not times]


def _name_place(launched: Launched) -> str:
    return show_place(launched.lines[0]) if launched.lines else ""


def _find_memory(memory: MemoryUse) -> Iterator[Largest]:
    for row in memory.rows[:LARGEST]:
        yield Largest("memory", ROLES[row.role], row.place, row.bytes, None)


def _find_collectives(exchanges: Sequence[Exchange]) -> Iterator[Largest]:
    for exchange in sorted(exchanges, key=lambda exchange: -exchange.sent_bytes)[:LARGEST]:
        place = exchange.where if exchange.places else ""
        seconds = exchange.time.likely if exchange.time else None
        yield Largest("collective", exchange.kind, place, exchange.sent_bytes, seconds)
