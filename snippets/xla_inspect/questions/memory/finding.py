"""The memory of one device, as its capture shows it."""

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
    read_op_scope,
)
from xla_inspect.answers import Answer, LineTotal, sum_scopes
from xla_inspect.targets import find_hardware

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from xla_inspect.analysis import Held
    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


type Role = Literal["argument", "result", "constant", "saved", "temporary", "gap"]


ROLES: Mapping[Role, str] = {
    "argument": "arguments",
    "result": "results",
    "constant": "constants",
    "saved": "saved for the backward pass",
    "temporary": "temporaries",
    "gap": "set aside, empty at the peak",
}
"""The words for each role."""

ON_THE_WAY: Final = ("temporary", "saved", "gap")
"""The roles of values that are neither arguments nor results."""


@dataclass(frozen=True)
class MemoryRow:
    """The memory that one place in the program holds at the peak.

    Attributes:
        role: What it is there for.
        place: `file:line`, or the name of an argument; empty where none is known.
        scope: The named scopes and modules around it.
        code: The line of Python, or an empty string.
        bytes: How much, padding included.
        padding_bytes: What of it fills up tiles.
        shapes: What it is, the largest first, such as `f32[32,2,4096]`.
        stacked: How many slices a loop stacks in it, or 0.
        donated: Whether it is an argument whose place a result takes.
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
    """A change of the program that was tried.

    Attributes:
        change: What was changed.
        needed_bytes: What the program needs with it, or None where it did not compile for another reason.
        fits: Whether that fits, or None where nobody knows.
        note: What was in the way, or an empty string.
    """

    change: str
    needed_bytes: int | None
    fits: bool | None
    note: str = ""


@dataclass(frozen=True)
class MemoryUse(Answer):
    """The memory of one device, by what takes it.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: What was asked about, as on the command line.
        needed_bytes: The most at once, as the compiler plans it: arguments and results for the whole run, and all that
            is set aside for temporaries.
        available_bytes: What a device has for it, or None where nobody knows, as of a CPU.
        fits: Whether it does, or None where nobody knows; no too where a memory on the chip is too small.
        error: What the compiler said where it gave up, or an empty string.
        refusal: The memory that the compiler ran out of, main memory or another, or None.
        rows: What it is made of, the largest first.
        undonated_bytes: Arguments that have the shape and type of a result and that no result takes the place of.
        causes: The causes of a high peak that the capture shows, the largest first, each with what helps.
        trials: What was tried.
        gap: Why the figures are of arguments and results alone, or an empty string.
        stage: The stage of the module that they are of.
        global_bytes: The bytes of global shapes, where those are not of one device; else as `needed_bytes`.
        unknown_shards: How many arguments and results count whole, since nothing says how they are sharded.
        scopes: Of the one line that asks for most, or of all without a line, the bytes by scope (`text`). Empty where
            neither has most, or those have one scope.
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

    @property
    def holds(self) -> bool:
        """False if it is known not to fit, or does not compile."""
        return self.fits is not False and not self.error

    def tell(self) -> Iterator[Part]:
        """Yield whether it fits, what takes the memory, and what would help."""
        from xla_inspect.questions.memory.rendering import render

        return render(self)

    def sum_roles(self, *roles: Role) -> int:
        """Return the bytes at the peak that are there for some purposes, of `ROLES`."""
        return sum(row.bytes for row in self.rows if row.role in roles)


def explain_memory(capture: Capture, asked: str, *, by: str = "line", trials: Sequence[MemoryTrial] = ()) -> MemoryUse:
    """Return what takes the memory of one device.

    Args:
        capture: The capture, of a compile that gave up too.
        asked: What was asked about, as on the command line.
        by: What a row is of: `line`, `scope`, or `buffer`.
        trials: What was tried besides.
    """
    held, stage = list_held(capture), find_stage(capture)
    memory = capture.memory
    needed = sum(each.size for each in held) or (
        memory.arguments + memory.outputs - memory.aliased + memory.temporaries
    )
    refusal = find_refusal(capture)
    is_main = refusal is not None and refusal.space == HBM
    available = (refusal.limit_bytes if refusal and is_main else None) or find_available(capture.target)
    needed = needed or (refusal.needed_bytes if refusal and is_main else None) or 0
    gap = "" if capture.buffers else capture.missing.get("buffers", "")
    fits = None if available is None or capture.error else needed <= available
    fits = None if gap and fits else fits
    if refusal is not None:
        fits = False
    return MemoryUse(
        program=capture.program,
        target=capture.target,
        asked=asked,
        needed_bytes=needed,
        available_bytes=available,
        fits=fits,
        error=capture.error,
        refusal=refusal,
        rows=tuple(_group(capture, held, by)),
        undonated_bytes=_count_undonated(capture, held),
        causes=find_peak_causes(capture, held),
        trials=tuple(trials),
        gap=gap,
        stage=stage,
        global_bytes=sum((each.whole or each.shape).padded_bytes for each in held if each.shape)
        if stage.shapes == "global"
        else needed,
        unknown_shards=sum(each.is_bound for each in held),
        scopes=sum_scopes(
            [(_name_place(each), _find_scope(each), each.size) for each in held if each.role not in {"argument", "gap"}]
        )
        if by == "line"
        else (),
    )


def answer_dump(capture: Capture, _: str) -> MemoryUse:
    """Return the answer about a module of a dump: without hints, since a dump cannot be compiled with a change."""
    return explain_memory(capture, "")


def find_available(target: str) -> int | None:
    """Return the bytes of main memory that one device of a target has for a program, or None of a CPU."""
    hardware = find_hardware(target)
    return hardware.memory if hardware else None


def _group(capture: Capture, held: Iterable[Held], by: str) -> Iterator[MemoryRow]:
    """Yield what each place holds, the largest first."""
    groups: dict[tuple[str, ...], list[Held]] = defaultdict(list)
    for number, each in enumerate(held):
        place = f"{each.line.file}:{each.line.number}" if each.line else _name_place(each)
        key = {"line": place, "scope": _find_scope(each), "buffer": str(number)}[by]
        # Small constants and arguments are many, and tell nothing one by one.
        groups[each.role, key, str(each.donated)].append(each)
    rows = [_describe(capture, pieces, by) for pieces in groups.values()]
    yield from sorted(rows, key=lambda row: -row.bytes)


def _describe(capture: Capture, pieces: Sequence[Held], by: str) -> MemoryRow:
    first = max(pieces, key=lambda each: each.size)
    shapes = dict.fromkeys(map(_name_shape, sorted(pieces, key=lambda each: -each.size)))
    code = ""
    if first.line is not None and by != "scope":
        lines = capture.sources.get(first.line.file, "").splitlines()
        code = lines[first.line.number - 1].strip() if first.line.number <= len(lines) else ""
    return MemoryRow(
        role=first.role,
        place=_find_scope(first) if by == "scope" else _name_place(first),
        scope=_find_scope(first),
        code=code,
        bytes=sum(each.size for each in pieces),
        padding_bytes=sum(each.padding for each in pieces),
        shapes=tuple(filter(None, shapes)),
        stacked=max(each.stacked for each in pieces),
        donated=first.donated,
    )


def _name_shape(held: Held) -> str:
    """Return the shape of what is held; of a stack how many of which: `32 x f32[2,4096]`."""
    if held.shape is None or not held.shape.is_array:
        return "the pointers of a tuple" if held.shape is not None and held.shape.is_tuple else ""
    sizes = held.shape.dimensions[1:] if held.stacked else held.shape.dimensions
    cut = f" of {held.whole.plain}" if held.whole else ""
    return (f"{held.stacked} x " if held.stacked else "") + f"{held.shape.dtype}[{','.join(map(str, sizes))}]{cut}"


def _name_place(held: Held) -> str:
    if held.line is not None:
        return f"{held.line.file.rpartition('/')[2]}:{held.line.number}"
    # Of an argument's path the first two steps: `state['params']`, not each weight.
    return "]".join(held.name.split("]")[:1]) + ("]" if "]" in held.name else "") if held.role == "argument" else ""


def _find_scope(held: Held) -> str:
    return "/".join(read_op_scope(held.maker.instruction.op_name or "")) if held.maker else ""


def _count_undonated(capture: Capture, held: Iterable[Held]) -> int:
    """Return the bytes of arguments that a result could take the place of, and none does."""
    if not capture.after:
        return 0
    results: dict[str, int] = defaultdict(int)
    for leaf in capture.module.entry.root.shape.leaves():
        results[str(leaf.plain)] += 1
    arguments = sorted((each for each in held if each.role == "argument"), key=lambda each: not each.donated)
    total = 0
    for each in arguments:
        kind = str(each.shape.plain) if each.shape is not None else ""
        if results[kind] > 0:
            results[kind] -= 1
            total += 0 if each.donated else each.size
    return total
