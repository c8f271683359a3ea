"""The memory of one device, as its capture shows it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from xla_inspect.analysis import HBM, find_peak_causes, find_refusal, find_stage, list_held, read_op_scope
from xla_inspect.answers.line_totals import sum_scopes
from xla_inspect.answers.memory import MemoryRow, MemoryUse
from xla_inspect.targets import find_hardware

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xla_inspect.analysis import Held
    from xla_inspect.answers.memory import MemoryTrial
    from xla_inspect.captured import Capture


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
