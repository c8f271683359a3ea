"""The row of one launch: its line of Python, its fused operations, its work, and its least time."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import (
    HOST_CALL,
    SourceLine,
    calls_host,
    custom_fusion_kind,
    find_lines,
    fit_symbol,
    list_work,
    model_launches,
    read_line,
    show_place,
)
from xla_inspect.analysis.estimates import Estimate  # noqa: TC001
from xla_inspect.analysis.machine import find_occupancy, read_limits
from xla_inspect.questions.collectives import list_launch_places
from xla_inspect.targets import find_entry, find_terms, read_spec

if TYPE_CHECKING:
    from xla_inspect.analysis import Launched
    from xla_inspect.analysis.estimates import TimedLaunch
    from xla_inspect.analysis.machine import Occupancy
    from xla_inspect.captured import Capture, Thunk
    from xla_inspect.hlo import Instruction, Module

_SCOPED = re.compile(
    r'^ *(?:ROOT )?%?(?P<name>[\w.$-]+) = .*"used_scoped_memory_configs":\[(?P<used>[^\]]*)\]', re.MULTILINE
)
_VMEM = re.compile(r'"memory_space":"1","offset":"\d+","size":"(\d+)"')

# Parts of a name that JAX adds and that do not locate the operation in the user's program.
_OUTER = re.compile(r"(?:^|/)(?:p?jit\([^()]*\)|while/(?:body|cond)|closed_call|core_call|eval_jaxpr)(?=/|$)")


@dataclass(frozen=True)
class Fused:
    """A line of Python and the operations of a launch that came from it.

    Attributes:
        where: The file and the line, as in `model.py:12`, or an empty string if the compiler recorded none.
        text: The source text of the line, or an empty string if the file is not one of the user's.
        opcodes: The number of operations by opcode.
    """

    where: str
    text: str
    opcodes: Mapping[str, int]


@dataclass(frozen=True)
class LaunchRow:
    """One launch: a kernel, a copy or a collective.

    Attributes:
        name: The instruction that it runs, which is its name in XLA's profiler.
        role: `kernel`, `copy` or `collective`.
        kind: The kind of a fusion, such as `kLoop`, else the opcode.
        library: The target of a custom call, such as `__cublas$lt$matmul$f8`, or the library or generator that computes
            a custom fusion, such as `__ynn_fusion`; an empty string for all others.
        where: The line of Python that it comes from, as in `model.py:12`, or an empty string if it is unknown.
        text: The source text of the line.
        scope: The named scopes and modules around it and its primitive, such as `block/attention/dot_general`.
        fused: The fused operations, by line.
        within: The loops and branches around it, outermost first.
        runs: The number of runs in one run of the program, or None if the compiler does not know it.
        assumed_runs: The number of runs for totals, where each loop or branch with an unknown number runs once.
        flops: Operations of one run.
        flops_by_type: Operations of one run by element type and unit.
        transcendentals: Calls of exp, tanh and similar functions in one run, which the flops do not include.
        unknown_work: Library calls whose work is not known.
        read_bytes: Bytes of main memory that one run reads.
        written_bytes: Bytes of main memory that one run writes.
        on_chip_bytes: Bytes of on-chip memory that it reads and writes, on a TPU.
        vmem_bytes: Bytes of VMEM that it uses for its own buffers, on a TPU, or None if unknown.
        least_seconds: The least time of one run according to the published peak rates, or None if there are none.
        limit: The resource that determines the least time: `memory`, or the name of a unit.
        time: The estimated time of all runs in seconds, without the part that other launches overlap; None without an
            estimate.
        hidden_seconds: The estimated time of all runs that other launches overlap, which `time` does not include.
        time_limit: The resource that determines the estimated time, such as `memory`, `compute` or `launch`.
        grid: Blocks in x, y and z, on a GPU.
        threads: Threads of a block in x, y and z, on a GPU.
        shared_bytes: Bytes of shared memory of a block: those that the launch requests plus, if the code was assembled
            on this machine, those that the code declares.
        symbol: The kernel's name in the code, on a GPU.
        registers: Registers of a thread, or None if unknown.
        spilled_bytes: Bytes that a thread spills to memory because it has too few registers, or None if unknown.
        occupancy: The kernel's warps that fit on a multiprocessor as a share of its maximum, or None if unknown.
        bound_by: The resources that limit the occupancy, such as `registers`.
        callback: `host callback` if it runs Python on the host, else an empty string.
        code: The languages in which its code is available, such as `ptx`.
    """

    name: str
    role: str
    kind: str
    library: str
    where: str
    text: str
    scope: str
    fused: tuple[Fused, ...]
    within: tuple[str, ...]
    runs: int | None
    assumed_runs: int
    flops: int
    flops_by_type: Mapping[str, int]
    transcendentals: int
    unknown_work: tuple[str, ...]
    read_bytes: int
    written_bytes: int
    on_chip_bytes: int
    vmem_bytes: int | None
    least_seconds: float | None
    limit: str
    time: Estimate | None
    hidden_seconds: float
    time_limit: str
    grid: tuple[int, int, int] | None
    threads: tuple[int, int, int] | None
    shared_bytes: int | None
    symbol: str
    registers: int | None
    spilled_bytes: int | None
    occupancy: float | None
    bound_by: tuple[str, ...]
    callback: str
    code: tuple[str, ...]

    @property
    def moved_bytes(self) -> int:
        """Bytes of main memory that one run reads and writes."""
        return self.read_bytes + self.written_bytes

    @property
    def weight(self) -> tuple[float, int]:
        """The sort key of launches by size: the estimated time of all runs, then the bytes that they move."""
        return self.time.likely if self.time else 0.0, self.assumed_runs * self.moved_bytes


def describe_launches(
    capture: Capture,
    registers: Mapping[str, tuple[int, ...]] | None = None,
    times: Mapping[str, TimedLaunch] | None = None,
) -> tuple[LaunchRow, ...]:
    """Return a row for each launch of a program, in the order of the schedule.

    Args:
        capture: The capture.
        registers: The known resources of kernels by symbol: registers of a thread, bytes that it spills, bytes of
            shared memory that the code declares, and for an AMD GPU the registers of a wave.
        times: The estimated times by the name of the launch.
    """
    lines = find_lines(capture, capture.module)
    languages: dict[str, list[str]] = {}
    for piece in capture.code:
        # A capture stores Triton code under the name of the instruction, and other code under the symbol.
        languages.setdefault(fit_symbol(piece.kernel), []).append(piece.language)
    launches = model_launches(capture)
    vmem = read_vmem(capture)
    return tuple(
        _describe(
            capture,
            launched,
            lines,
            registers or {},
            languages,
            where=where,
            text=text,
            vmem_bytes=vmem.get(launched.launch.name),
            **_describe_time((times or {}).get(launched.launch.name)),
        )
        for launched, (where, text) in zip(launches, list_launch_places(capture, launches), strict=True)
    )


def _describe_time(timed: TimedLaunch | None) -> dict[str, Any]:
    return {
        "time": timed.total if timed else None,
        "hidden_seconds": timed.hidden if timed else 0.0,
        "time_limit": timed.limit if timed else "",
    }


def read_vmem(capture: Capture) -> dict[str, int]:
    """Return the bytes of VMEM that a TPU's code generator assigned to each instruction's own buffers, by name.

    Values that stay in VMEM between instructions are not included.
    """
    texts = [piece.text for piece in capture.code if piece.language == "hlo"]
    return {
        match["name"]: sum(map(int, _VMEM.findall(match["used"])))
        for text in texts
        for match in _SCOPED.finditer(text)
        if match["used"]
    }


def find_library(module: Module, instruction: Instruction) -> str:
    """Return the target of a custom call, also inside a fusion, or the kind of a custom fusion, or an empty string."""
    own = instruction.custom_call_target or custom_fusion_kind(instruction)
    inner = (worker.custom_call_target for worker in list_work(module, instruction) if worker.custom_call_target)
    return own or next(inner, "")


def _name_library(call: str, target: str) -> str:
    """Return a custom call's target, on an AMD GPU with the library that it calls in parentheses."""
    library = find_terms(target).name_library(call)
    return f"{call} ({library})" if library else call


def find_scope(capture: Capture, instruction: Instruction) -> str:
    """Return the named scopes around an instruction and its primitive as a path, without `jax.jit` and loops.

    An instruction without a name gets that of its last named operation; the result is empty if none has a name.
    """
    # A fusion may have no name of its own. Then the last named operation inside it is the nearest to its result.
    candidates = [instruction, *reversed(list(list_work(capture.module, instruction)))]
    return _OUTER.sub("", next((candidate.op_name for candidate in candidates if candidate.op_name), "")).strip("/")


def list_fused(
    capture: Capture, instruction: Instruction, lines: Mapping[Instruction, SourceLine]
) -> tuple[Fused, ...]:
    """Return the operations of an instruction by line of Python, in line order, with those without a line last."""
    by_line: dict[tuple[str, int], Counter[str]] = {}
    for inner in list_work(capture.module, instruction):
        line = lines.get(inner)
        # Operations without a line share one row.
        by_line.setdefault((line.file, line.number) if line else ("", 0), Counter())[inner.opcode] += 1
    places = sorted(by_line, key=lambda place: (not place[0], place))
    return tuple(_describe_line(capture, place, by_line[place]) for place in places)


def _describe_line(capture: Capture, place: tuple[str, int], opcodes: Counter[str]) -> Fused:
    line = SourceLine(*place, "")
    return Fused(*((show_place(line), read_line(capture, line)) if line.file else ("", "")), dict(opcodes))


def _describe(
    capture: Capture,
    launched: Launched,
    lines: Mapping[Instruction, SourceLine],
    registers: Mapping[str, tuple[int, ...]],
    languages: Mapping[str, list[str]],
    **others: Any,  # noqa: ANN401 - the fields that need more than the launch
) -> LaunchRow:
    launch, work, thunk = launched.launch, launched.work, launched.launch.thunk
    symbol = thunk.symbol if thunk else ""
    resources = registers.get(symbol)
    shared = thunk.shared_memory if thunk else None
    # The occupancy depends on the registers, which only the assembled code shows.
    occupancy = _find_occupancy(capture, thunk, resources) if thunk and resources else None
    return LaunchRow(
        name=launch.name,
        role=launch.role or "",
        kind=launch.kind,
        library=_name_library(find_library(capture.module, launch.instruction), capture.target),
        scope=find_scope(capture, launch.instruction),
        fused=list_fused(capture, launch.instruction, lines),
        within=launch.within,
        runs=launch.runs,
        assumed_runs=launch.assumed_runs,
        flops=work.flops,
        flops_by_type={
            **{f"{kind} products": number for kind, number in work.products.items()},
            **{f"{kind} others": number for kind, number in work.others.items()},
        },
        transcendentals=work.transcendentals,
        unknown_work=work.unknown,
        read_bytes=launched.read,
        written_bytes=launched.written,
        on_chip_bytes=launched.on_chip,
        least_seconds=launched.bound.seconds if launched.bound else None,
        limit=launched.bound.limit if launched.bound else "",
        grid=thunk.grid if thunk else None,
        threads=thunk.threads if thunk else None,
        shared_bytes=shared + resources[2] if shared is not None and resources else shared,
        symbol=symbol,
        registers=resources[0] if resources else None,
        spilled_bytes=resources[1] if resources else None,
        occupancy=occupancy.share if occupancy else None,
        bound_by=occupancy.bound_by if occupancy else (),
        callback=HOST_CALL if calls_host(launch.instruction) else "",
        code=tuple(dict.fromkeys(languages.get(fit_symbol(symbol or launch.name), ()))),
        **others,
    )


def _find_occupancy(capture: Capture, thunk: Thunk, resources: tuple[int, ...]) -> Occupancy | None:
    if not thunk.threads or find_entry(capture.target).is_local:
        return None
    registers, _, declared, *scalar = resources
    return find_occupancy(
        read_limits(read_spec(capture.target)),
        threads=math.prod(thunk.threads),
        registers=registers,
        shared=declared + (thunk.shared_memory or 0),
        scalar=sum(scalar),
    )
