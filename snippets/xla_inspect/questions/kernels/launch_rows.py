"""The row of one launch: its line of Python, what is fused in it, its work, and the least time that it takes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    HOST_CALL,
    MEMORY,
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
from xla_inspect.analysis.machine import find_occupancy, read_limits
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.targets import find_entry, read_spec

if TYPE_CHECKING:
    from xla_inspect.analysis import Launched
    from xla_inspect.analysis.machine import Occupancy
    from xla_inspect.captured import Capture, Thunk
    from xla_inspect.hlo import Instruction, Module

_SCOPED = re.compile(
    r'^ *(?:ROOT )?%?(?P<name>[\w.$-]+) = .*"used_scoped_memory_configs":\[(?P<used>[^\]]*)\]', re.MULTILINE
)
_VMEM = re.compile(r'"memory_space":"1","offset":"\d+","size":"(\d+)"')

# Parts of a name that JAX gives and that say nothing of where in the reader's program it is.
_OUTER = re.compile(r"(?:^|/)(?:p?jit\([^()]*\)|while/(?:body|cond)|closed_call|core_call|eval_jaxpr)(?=/|$)")


@dataclass(frozen=True)
class Fused:
    """A line of Python and the operations of a launch that came from it.

    Attributes:
        where: The file and the line, as in `model.py:12`, or an empty string where the compiler kept none.
        text: The line as it is written, or an empty string where the file is none of the reader's.
        opcodes: Operation to how often it stands there.
    """

    where: str
    text: str
    opcodes: Mapping[str, int]


@dataclass(frozen=True)
class LaunchRow:
    """One launch: a kernel, a copy or a collective.

    Attributes:
        name: The instruction that it runs, which is what XLA's profiler calls it.
        role: `kernel`, `copy` or `collective`.
        kind: The kind of a fusion, such as `kLoop`, else the opcode.
        library: The target of a custom call, such as `__cublas$lt$matmul$f8`, or the library or generator that computes
            a custom fusion, such as `__ynn_fusion`; an empty string for all others.
        where: The line of Python that it comes from, as in `model.py:12`, or an empty string where nobody knows.
        text: The line as it is written.
        scope: Where in the program that is, by the names of its scopes and modules: `block/attention/dot_general`.
        fused: What is in it, by line.
        within: The loops and branches around it, outermost first.
        runs: How often it runs in one run of the program, or None where the compiler does not know.
        flops: Operations of one run.
        flops_by_type: The same by element type and unit.
        transcendentals: Calls of exp, tanh and the like in one run, which are not among the flops.
        unknown_work: Library calls that say nothing of their work.
        read_bytes: Bytes of main memory that one run reads.
        written_bytes: Bytes of main memory that it writes.
        on_chip_bytes: Bytes of memory on the chip that it reads and writes, on a TPU.
        vmem_bytes: Bytes of VMEM that it takes for its own buffers, on a TPU, or None where that is not known.
        least_seconds: The least time of one run by the published peaks, or None where there are none.
        limit: What needs that long: `memory`, or the name of a unit.
        grid: Blocks in x, y and z, on a GPU.
        threads: Threads of a block in x, y and z, on a GPU.
        shared_bytes: Bytes of shared memory of a block: what the launch asks for, and where the code was assembled here
            what the code asks for too.
        symbol: What the kernel is called in the code, on a GPU.
        registers: Registers of a thread, or None where that is not known.
        spilled_bytes: Bytes that a thread writes and reads for want of registers, or None likewise.
        occupancy: Warps of it that a multiprocessor can hold, as a share of those that it has room for, or None
            likewise.
        bound_by: What it holds no more for, such as `registers`.
        callback: `host callback` where it runs Python on the host, else an empty string.
        code: The languages in which its code is at hand, such as `ptx`.
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
        """By what it is larger than another: the least time of all its runs, then the bytes that they move."""
        times = self.runs or 1
        return times * (self.least_seconds or 0.0), times * self.moved_bytes

    @property
    def bound(self) -> str:
        """The limit of its least time, in one word."""
        if self.least_seconds is None or not self.least_seconds:
            return "-"
        return MEMORY if self.limit == MEMORY else "compute"


def describe_launches(
    capture: Capture, registers: Mapping[str, tuple[int, int, int]] | None = None
) -> tuple[LaunchRow, ...]:
    """Return what there is to say of each launch of a program, in the order of the schedule.

    Args:
        capture: The capture.
        registers: Of kernels by their symbol: registers of a thread, bytes that it spills, and bytes of shared memory
            that the code asks for, as far as they are known.
    """
    lines = find_lines(capture, capture.module)
    languages: dict[str, list[str]] = {}
    for piece in capture.code:
        # Triton's form is kept under the name of the instruction, the rest under that of the symbol.
        languages.setdefault(fit_symbol(piece.kernel), []).append(piece.language)
    launched = model_launches(capture)
    vmem = read_vmem(capture)
    rows = [
        replace(row, vmem_bytes=vmem.get(row.name))
        for row in (_describe(capture, each, lines, registers or {}, languages) for each in launched)
    ]
    if not any(each.launch.role == "collective" for each in launched):
        return tuple(rows)
    # One that the compiler combined of several belongs to the lines of all.
    exchanges = {each.name: each for each in find_exchanges(capture.program, capture, {}).exchanges if each.places}
    return tuple(
        replace(row, where=exchange.where, text=exchange.places[0].text)
        if (exchange := exchanges.get(row.name) or exchanges.get(each.launch.scheduled.name))
        else row
        for row, each in zip(rows, launched, strict=True)
    )


def read_vmem(capture: Capture) -> dict[str, int]:
    """Return the bytes of VMEM that instructions take for their own buffers, by name, as a TPU's code generator has it.

    A value that lies in VMEM between instructions is not among them.
    """
    texts = [piece.text for piece in capture.code if piece.language == "hlo"]
    return {
        match["name"]: sum(map(int, _VMEM.findall(match["used"])))
        for text in texts
        for match in _SCOPED.finditer(text)
        if match["used"]
    }


def find_library(module: Module, instruction: Instruction) -> str:
    """Return the target of a custom call, or of a call inside a fusion or a small computation, or an empty string."""
    own = instruction.custom_call_target or custom_fusion_kind(instruction)
    inner = (each.custom_call_target for each in list_work(module, instruction) if each.custom_call_target)
    return own or next(inner, "")


def find_scope(capture: Capture, instruction: Instruction) -> str:
    """Return where in the program an instruction is by the names of scopes, without those of `jax.jit` and of loops."""
    named = [instruction, *reversed(list(list_work(capture.module, instruction)))]
    return _OUTER.sub("", next((each.op_name for each in named if each.op_name), "")).strip("/")


def list_fused(
    capture: Capture, instruction: Instruction, lines: Mapping[Instruction, SourceLine]
) -> tuple[Fused, ...]:
    """Return what an instruction computes, by the lines of Python, in their order, what has no line last."""
    by_line: dict[tuple[str, int], Counter[str]] = {}
    for inner in list_work(capture.module, instruction):
        line = lines.get(inner)
        by_line.setdefault((line.file, line.number) if line else ("", 0), Counter())[inner.opcode] += 1
    places = sorted(by_line, key=lambda place: (not place[0], place))
    return tuple(_describe_line(capture, place, by_line[place]) for place in places)


def _describe_line(capture: Capture, place: tuple[str, int], opcodes: Counter[str]) -> Fused:
    line = SourceLine(*place, "")
    return Fused(*((show_place(line), read_line(capture, line)) if line.file else ("", "")), dict(opcodes))


def _describe(
    capture: Capture,
    each: Launched,
    lines: Mapping[Instruction, SourceLine],
    registers: Mapping[str, tuple[int, int, int]],
    languages: Mapping[str, list[str]],
) -> LaunchRow:
    launch, work, thunk = each.launch, each.work, each.launch.thunk
    line = each.lines[0] if each.lines else None
    symbol = thunk.symbol if thunk else ""
    counted = registers.get(symbol)
    shared = thunk.shared_memory if thunk else None
    occupancy = _find_occupancy(capture, thunk, counted) if thunk and counted else None
    return LaunchRow(
        name=launch.name,
        role=launch.role or "",
        kind=launch.kind,
        library=find_library(capture.module, launch.instruction),
        where=show_place(line) if line else "",
        text=read_line(capture, line) if line else "",
        scope=find_scope(capture, launch.instruction),
        fused=list_fused(capture, launch.instruction, lines),
        within=launch.within,
        runs=launch.runs,
        flops=work.flops,
        flops_by_type={
            **{f"{kind} products": number for kind, number in work.products.items()},
            **{f"{kind} others": number for kind, number in work.others.items()},
        },
        transcendentals=work.transcendentals,
        unknown_work=work.unknown,
        read_bytes=each.read,
        written_bytes=each.written,
        on_chip_bytes=each.on_chip,
        vmem_bytes=None,
        least_seconds=each.bound.seconds if each.bound else None,
        limit=each.bound.limit if each.bound else "",
        grid=thunk.grid if thunk else None,
        threads=thunk.threads if thunk else None,
        shared_bytes=shared + counted[2] if shared is not None and counted else shared,
        symbol=symbol,
        registers=counted[0] if counted else None,
        spilled_bytes=counted[1] if counted else None,
        occupancy=occupancy.share if occupancy else None,
        bound_by=occupancy.bound_by if occupancy else (),
        callback=HOST_CALL if calls_host(launch.instruction) else "",
        code=tuple(dict.fromkeys(languages.get(fit_symbol(symbol or launch.name), ()))),
    )


def _find_occupancy(capture: Capture, thunk: Thunk, counted: tuple[int, int, int]) -> Occupancy | None:
    if not thunk.threads or find_entry(capture.target).is_local:
        return None
    registers, _, declared = counted
    return find_occupancy(
        read_limits(read_spec(capture.target)),
        threads=math.prod(thunk.threads),
        registers=registers,
        shared=declared + (thunk.shared_memory or 0),
    )
