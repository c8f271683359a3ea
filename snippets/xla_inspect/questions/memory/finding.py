"""The answer about the memory of one device at the peak, as the compiler planned it: by line, cause and remedy."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from xla_inspect.analysis import (
    FINAL,
    HBM,
    PeakCause,
    Refusal,
    Stage,
    find_peak_causes,
    find_refusal,
    find_stage,
    list_held,
    parse_report,
    read_op_scope,
)
from xla_inspect.analysis.estimates import Estimate  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.answers import Answer, LineTotal, sum_scopes
from xla_inspect.questions.collectives import explain_constraints
from xla_inspect.targets import find_hardware

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from xla_inspect.analysis import Held
    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


type Role = Literal["argument", "result", "constant", "saved", "temporary", "gap", "unknown"]
type Basis = Literal["plan", "live ranges", "usage report"]


ROLES: Mapping[Role, str] = {
    "argument": "arguments",
    "result": "results",
    "constant": "constants",
    "saved": "saved for the backward pass",
    "temporary": "temporaries",
    "gap": "reserved, but unused at the peak",
    "unknown": "unknown",
}
"""The description of each role (purpose of memory) in the printed answer."""

ON_THE_WAY: Final = ("temporary", "saved", "gap")
"""The roles that count as temporaries: memory that is neither argument, result nor constant."""


@dataclass(frozen=True)
class MemoryRow:
    """The memory at the peak for one place in the program.

    Attributes:
        role: The purpose of the memory, one of `ROLES`.
        place: `file:line`, or the name of an argument, or the scope if rows are by scope; empty if it is unknown.
        scope: The named scopes and modules around it.
        code: The line of Python, or an empty string.
        bytes: The size, including padding.
        padding_bytes: The bytes that pad tiles.
        shapes: The shapes of the values, the largest first, such as `f32[32,2,4096]`.
        stacked: The number of slices that a loop stacks in it, or 0.
        donated: Whether it is a donated argument, whose memory a result reuses.
    """

    role: Role
    place: str
    scope: str
    code: str
    bytes: int
    padding_bytes: int
    shapes: tuple[str, ...]
    stacked: int
    donated: bool


@dataclass(frozen=True)
class MemoryTrial:
    """A change to the program, and the memory that the compiler planned for the changed program.

    Attributes:
        change: The change.
        needed_bytes: The memory that the changed program needs, also if it ran out of memory; None if it is unknown.
        fits: Whether the changed program fits, or None if unknown.
        note: The error message, or an empty string.
        time: The estimated time of the changed program in seconds; None without an estimate, or if it does not fit.
    """

    change: str
    needed_bytes: int | None
    fits: bool | None
    note: str = ""
    time: Estimate | None = None


@dataclass(frozen=True)
class MemoryUse(Answer):
    """The memory of one device at the peak, by line of Python and purpose.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: The subject and options, as on the command line.
        needed_bytes: The compiler's peak: arguments and results for the whole run, and all memory reserved for
            temporaries.
        available_bytes: The memory of a device, or None if it is unknown, as for a CPU.
        fits: Whether the program fits, or None if unknown. False also if an on-chip memory is too small.
        error: The compiler's error message, or an empty string if it succeeded.
        refusal: The memory that the compiler ran out of, main memory or another one, or None.
        rows: The memory by place and purpose, the largest first.
        undonated_bytes: The bytes of arguments with the shape and type of a result that no result reuses.
        causes: The causes of a high peak, the largest first, each with its remedy.
        trials: The changes that were compiled to measure their effect.
        gap: The reason why the numbers cover only arguments and results, or an empty string.
        stage: The stage of the module that the numbers describe.
        global_bytes: The bytes of global shapes if the module has them; otherwise the same as `needed_bytes`.
        unknown_shards: The number of arguments and results without a known sharding, which count in full.
        scopes: The bytes by scope (`text`) of the line with at least half of them. Values without a line count as one
            line. Empty if no line has that share, or if it has only one scope.
        basis: The source of the numbers: the memory plan, or a part of it without the rest.
        constraints: Sentences about each `with_sharding_constraint` that pads a value or has no effect.
        time: With `trials`, the estimated time of the unchanged program, or None as in `MemoryTrial`.
        times: With `trials`, the limits of the estimated times, or an empty string without them.
    """

    program: str
    target: str
    asked: str
    needed_bytes: int
    available_bytes: int | None
    fits: bool | None
    error: str
    refusal: Refusal | None
    rows: tuple[MemoryRow, ...]
    undonated_bytes: int
    causes: tuple[PeakCause, ...] = ()
    trials: tuple[MemoryTrial, ...] = ()
    gap: str = ""
    stage: Stage = FINAL
    global_bytes: int = 0
    unknown_shards: int = 0
    scopes: tuple[LineTotal, ...] = ()
    basis: Basis = "plan"
    constraints: tuple[str, ...] = ()
    time: Estimate | None = None
    times: str = ""

    @property
    def holds(self) -> bool:
        """False if the program does not fit or does not compile."""
        return self.fits is not False and not self.error

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the verdict, tables of the memory by line, and remedies."""
        from xla_inspect.questions.memory.rendering import render

        return render(self)

    def sum_roles(self, *roles: Role) -> int:
        """Return the total bytes at the peak of the rows with one of the given roles."""
        return sum(row.bytes for row in self.rows if row.role in roles)


def explain_memory(
    capture: Capture, command_words: str, *, by: str = "line", trials: Sequence[MemoryTrial] = ()
) -> MemoryUse:
    """Return the planned memory of one device at the peak, whether it fits, and the causes of a high peak.

    Args:
        capture: The capture, which may be one of a failed compilation.
        command_words: The subject and options, as on the command line.
        by: The grouping of the rows: `line`, `scope`, or `buffer`.
        trials: Changes that were compiled to measure their effect.
    """
    values, stage = list_held(capture), find_stage(capture)
    memory = capture.memory
    needed_bytes = sum(value.size for value in values) or (
        memory.arguments + memory.outputs - memory.aliased + memory.temporaries
    )
    # Without a module there are no lines, so each value is a row of its own.
    by = "buffer" if capture.is_plan else by
    basis: Basis = "live ranges" if capture.live_ranges else "usage report"
    basis = "plan" if capture.buffers or not capture.is_plan else basis
    needed_bytes = parse_report(capture.memory_report)[0] if basis == "usage report" else needed_bytes
    refusal = find_refusal(capture)
    # Only an error about main memory has the bytes that the whole program needs.
    is_main = refusal is not None and refusal.space == HBM
    # The limit in the compiler's message takes precedence over the size in the table of hardware.
    available = (refusal.limit_bytes if refusal and is_main else None) or find_available(capture.target)
    # A failed compilation has no memory plan, but the compiler's message has the bytes that it needed.
    needed_bytes = needed_bytes or (refusal.needed_bytes if refusal and is_main else None) or 0
    gap = "" if capture.buffers or capture.is_plan else capture.missing.get("buffers", "")
    fits = None if available is None or capture.error else needed_bytes <= available
    # Without temporaries the sum is a lower bound: it can show that a program does not fit, but not that it fits.
    fits = None if (gap and fits) or basis == "live ranges" else fits
    # An on-chip memory may run out although the main memory suffices.
    if refusal is not None:
        fits = False
    return MemoryUse(
        program=capture.program,
        target=capture.target,
        asked=command_words,
        needed_bytes=needed_bytes,
        available_bytes=available,
        fits=fits,
        error=capture.error,
        refusal=refusal,
        rows=tuple(_group(capture, values, by)),
        undonated_bytes=_count_undonated(capture, values),
        causes=find_peak_causes(capture, values),
        trials=tuple(trials),
        gap=gap,
        stage=stage,
        global_bytes=sum((value.whole or value.shape).padded_bytes for value in values if value.shape)
        if stage.shapes == "global"
        else needed_bytes,
        unknown_shards=sum(value.is_bound for value in values),
        scopes=sum_scopes(
            [
                (_name_place(value), _find_scope(value), value.size)
                for value in values
                # Arguments and gaps do not come from an operation, so they have no scope.
                if value.role not in {"argument", "gap"}
            ]
        )
        if by == "line"
        else (),
        basis=basis,
        constraints=explain_constraints(capture),
    )


def answer_dump(capture: Capture, _: str) -> MemoryUse:
    """Return the memory of a module of a dump, without hints, since a dump cannot be compiled with changes."""
    return explain_memory(capture, "")


def find_available(target: str) -> int | None:
    """Return the bytes of main memory of one device of a target, or None if unknown, as for a CPU."""
    hardware = find_hardware(target)
    return hardware.memory if hardware else None


def _group(capture: Capture, values: Iterable[Held], by: str) -> Iterator[MemoryRow]:
    """Yield the rows of memory by purpose and by line, scope or buffer (`by`), the largest first."""
    groups: dict[tuple[str, ...], list[Held]] = defaultdict(list)
    for number, value in enumerate(values):
        place = f"{value.line.file}:{value.line.number}" if value.line else _name_place(value)
        key = {"line": place, "scope": _find_scope(value), "buffer": str(number)}[by]
        # Small constants and arguments are numerous and uninteresting one by one, so a place has one row for all.
        groups[value.role, key, str(value.donated)].append(value)
    rows = [_describe(capture, pieces, by) for pieces in groups.values()]
    yield from sorted(rows, key=lambda row: -row.bytes)


def _describe(capture: Capture, pieces: Sequence[Held], by: str) -> MemoryRow:
    first = max(pieces, key=lambda value: value.size)
    shapes = dict.fromkeys(map(_name_shape, sorted(pieces, key=lambda value: -value.size)))
    code = ""
    if first.line is not None and by != "scope":
        lines = capture.sources.get(first.line.file, "").splitlines()
        code = lines[first.line.number - 1].strip() if first.line.number <= len(lines) else ""
    return MemoryRow(
        role=first.role,
        place=_find_scope(first) if by == "scope" else _name_place(first) or (first.name if capture.is_plan else ""),
        scope=_find_scope(first),
        code=code,
        bytes=sum(value.size for value in pieces),
        padding_bytes=sum(value.padding for value in pieces),
        shapes=tuple(filter(None, shapes)),
        stacked=max(value.stacked for value in pieces),
        donated=first.donated,
    )


def _name_shape(value: Held) -> str:
    """Return the shape of a stored value, or for a stack the number and shape of its slices: `32 x f32[2,4096]`."""
    if value.shape is None or not value.shape.is_array:
        return "pointers of a tuple" if value.shape is not None and value.shape.is_tuple else ""
    # The first dimension of a stack counts its slices.
    sizes = value.shape.dimensions[1:] if value.stacked else value.shape.dimensions
    cut = f" of {value.whole.plain}" if value.whole else ""
    return (f"{value.stacked} x " if value.stacked else "") + f"{value.shape.dtype}[{','.join(map(str, sizes))}]{cut}"


def _name_place(value: Held) -> str:
    if value.line is not None:
        return f"{value.line.file.rpartition('/')[2]}:{value.line.number}"
    # An argument's path is cut after its first key: `state['params']`, not each weight.
    return "]".join(value.name.split("]")[:1]) + ("]" if "]" in value.name else "") if value.role == "argument" else ""


def _find_scope(value: Held) -> str:
    return "/".join(read_op_scope(value.maker.instruction.op_name or "")) if value.maker else ""


def _count_undonated(capture: Capture, values: Iterable[Held]) -> int:
    """Return the bytes of arguments that are not donated although a result of their shape could use their memory."""
    if capture.is_plan or not capture.after:
        return 0
    results: dict[str, int] = defaultdict(int)
    for leaf in capture.module.entry.root.shape.leaves():
        results[str(leaf.plain)] += 1
    # Donated arguments come first, because each of them already reuses the memory of a result.
    arguments = sorted((value for value in values if value.role == "argument"), key=lambda value: not value.donated)
    total = 0
    for value in arguments:
        kind = str(value.shape.plain) if value.shape is not None else ""
        if results[kind] > 0:
            results[kind] -= 1
            total += 0 if value.donated else value.size
    return total
