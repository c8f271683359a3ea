"""The elements of each operand that a computation needs, traced from its result back to its parameters.

A gather of two rows needs two rows of its table, and an in-place update needs none of the unchanged elements. The
rules for whole results are those of XLA's own cost analysis (`xla/service/hlo_cost_analysis.cc`: `HandleGather`,
`HandleScatter`, `HandleDynamicSlice`, `HandleDynamicUpdateSlice`). Beyond it, a need passes through fused operations
(element-wise operations, reductions, nested fusions), and each element of an operand counts once.

Both branches of a `select` are needed: XLA's emitters compute both (`xla/service/elemental_ir_emitter.cc`).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from xla_inspect.hlo import CATEGORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from xla_inspect.hlo import Computation, Instruction, Module

type Box = tuple[tuple[int, int], ...]
"""The first element and the end of a range for each dimension."""

_NUMBERS = re.compile(r"-?\d+")
_OWN_KERNELS = re.compile(r"tpu_custom_call|mosaic|triton|callback|xla_ffi")
_SAME_ELEMENTS = frozenset({"bitcast", "copy", "opt-barrier", "reshape", "reverse", "transpose"})
_UPDATES = frozenset({"dynamic-update-slice", "scatter"})


class Need(NamedTuple):
    """The needed elements of one value: two counts of them, and their position if it is known.

    Attributes:
        asked: The elements that the program requests, each once, but a row that a gather reads twice counts twice.
        least: The elements that every run needs, for any indices. An update's index is assumed to be in bounds.
        box: The position of the elements if the program states one contiguous block, otherwise None.
    """

    asked: int
    least: int
    box: Box | None = None


NOTHING = Need(0, 0)


def count_operands(module: Module, kernel: Instruction, size: int) -> Sequence[Need]:
    """Return the number of needed elements of each operand of a launch, in order.

    Args:
        module: The module.
        kernel: A launched instruction of the module.
        size: The number of elements of its result.
    """
    if inside := find_inside(module, kernel):
        return _count_parameters(module, inside, Need(inside.root.shape.size, inside.root.shape.size), is_result=True)
    in_place = {kernel.name} if _get_opcode(kernel) in _UPDATES else set[str]()
    return _pass_on(module, module.computation(kernel.computation), kernel, Need(size, size), in_place)


def count_written(module: Module, kernel: Instruction) -> Sequence[Need | None]:
    """Return the number of written elements of each array in a launch's result, or None for one written in full."""
    if inside := find_inside(module, kernel):
        return [_count_updated(module, inside, value) for value in _list_results(inside)]
    is_update = _get_opcode(kernel) in _UPDATES
    return [_count_part(module.computation(kernel.computation), kernel) if is_update else None]


def find_inside(module: Module, kernel: Instruction) -> Computation | None:
    """Return the computation of a fusion or asynchronous start with one parameter per operand; None for any other."""
    if kernel.opcode not in {"fusion", "async-start"} or not kernel.called:
        return None
    inside = module.called(kernel)[0]
    return inside if len(inside.parameters) == len(kernel.operands) else None


def _count_parameters(module: Module, inside: Computation, need: Need, *, is_result: bool) -> Sequence[Need]:
    """Return the `Need` of each parameter for some needed elements of a computation's result.

    Args:
        module: The module.
        inside: The computation.
        need: The needed elements of its result.
        is_result: Whether the result is that of the launch, so that updates of a parameter may be in place.
    """
    traces = [_trace(module, inside, value) for value in _list_results(inside)] if is_result else []
    in_place = {update.name for trace in traces if trace for update in trace.updates}
    shares: dict[str, list[Need]] = defaultdict(list)
    shares[inside.root.name].append(need)
    needs: dict[str, Need] = {}
    for value in reversed(inside.instructions):
        total = needs[value.name] = _add_up(value.shape.size, shares.pop(value.name, []))
        if total.asked or value.name in in_place:
            passed = _pass_on(module, inside, value, total, in_place)
            for name, share in zip(value.operands, passed, strict=True):
                shares[name].append(share)
    return [needs[parameter.name] for parameter in inside.parameters]


def _add_up(size: int, shares: Sequence[Need]) -> Need:
    """Return the combined need of several users: overlapping blocks count once, and several users may share a row."""
    blocks = _count_union([share.box for share in shares if share.box is not None])
    others = [share for share in shares if share.box is None]
    total = sum(share.asked for share in others) + blocks
    return Need(min(size, total), min(size, max([blocks, *(share.least for share in others)])))


def _count_union(boxes: Sequence[Box]) -> int:
    """Return the number of elements in the union of some blocks."""
    if len(boxes) <= 1 or not boxes[0]:
        return math.prod(end - start for start, end in boxes[0]) if boxes else 0
    edges = sorted({edge for box in boxes for edge in box[0]})
    total = 0
    for start, end in pairwise(edges):
        inner = {box[1:] for box in boxes if box[0][0] <= start and end <= box[0][1]}
        total += (end - start) * _count_union(sorted(inner))
    return total


def _list_results(inside: Computation) -> tuple[Instruction, ...]:
    return inside.operands(inside.root) if inside.root.opcode == "tuple" else (inside.root,)


class _Trace(NamedTuple):
    """The `updates`, last first, that replace parts of a `parameter` and produce a value."""

    updates: list[Instruction]
    parameter: Instruction


def _trace(module: Module, holder: Computation, value: Instruction) -> _Trace | None:
    """Return the updates that lead from a parameter to a value, or None if the value is a new array."""
    updates = []
    while value.opcode != "parameter":
        base = 0
        if inside := find_inside(module, value):
            inner = _trace(module, inside, inside.root)
            if inner is None or inner.parameter.parameter_number is None:
                return None
            base = inner.parameter.parameter_number
        elif value.opcode not in _UPDATES | {"bitcast"} or len(value.shape.leaves()) > 1:
            return None
        if value.opcode != "bitcast":
            updates.append(value)
        value = holder.operands(value)[base]
    return _Trace(updates, value)


def _count_updated(module: Module, holder: Computation, value: Instruction) -> Need | None:
    """Return the number of elements of a parameter that a value replaces in place, or None if the value is new."""
    trace = _trace(module, holder, value)
    parts = []
    for update in trace.updates if trace else ():
        inside = find_inside(module, update)
        part = _count_updated(module, inside, inside.root) if inside else _count_part(holder, update)
        parts += [part] if part else []
    return Need(sum(part.asked for part in parts), max(part.least for part in parts)) if parts else None


def _count_part(holder: Computation, update: Instruction) -> Need:
    """Return the number of elements that an update replaces; all rows of a scatter may be the same row."""
    operands = holder.operands(update)
    size = operands[-1].shape.size if update.opcode == "scatter" else operands[1].shape.size
    if update.opcode != "scatter" or update.attributes.get("unique_indices") == "true":
        return Need(size, size)
    return Need(size, _count_row(operands[-1], update.attributes.get("update_window_dims", "")))


def _count_row(updates: Instruction, dimensions: str) -> int:
    lengths = updates.shape.dimensions
    return math.prod(lengths[int(number)] for number in _NUMBERS.findall(dimensions)) if updates.shape.size else 0


def _get_opcode(value: Instruction) -> str:
    return value.wrapped or value.opcode


def _pass_on(
    module: Module, holder: Computation, value: Instruction, need: Need, in_place: Iterable[str]
) -> Sequence[Need]:
    """Return the `Need` of each operand for some needed elements of a value."""
    operands = holder.operands(value)
    opcode = _get_opcode(value)
    if inside := find_inside(module, value):
        return _count_parameters(module, inside, need, is_result=value.name in in_place)
    if value.name in in_place:
        return _pass_update(module, value, operands)
    if rule := _RULES.get(opcode):
        return rule(value, operands, need)
    if CATEGORY.get(opcode) == "element-wise" or opcode in _SAME_ELEMENTS:
        size = value.shape.size
        return [need._replace(box=None) if operand.shape.size == size else _take(operand) for operand in operands]
    if opcode == "custom-call" and _OWN_KERNELS.search(value.custom_call_target or ""):
        # A custom kernel may read all of its operands or nothing, so the least that it needs is nothing.
        return [Need(operand.shape.size, 0) for operand in operands]
    return [_take(operand) for operand in operands]


def _take(operand: Instruction) -> Need:
    return Need(operand.shape.size, operand.shape.size)


def _scale(operand: Instruction, value: Instruction, need: Need) -> Need:
    """Return the need of an operand: the share that is needed of the value, whose elements each use separate parts."""
    size, whole = operand.shape.size, value.shape.leaves()[0].size or 1
    return Need(min(size, -(-need.asked * size // whole)), min(size, -(-need.least * size // whole)))


def _pass_update(module: Module, value: Instruction, operands: Sequence[Instruction]) -> Sequence[Need]:
    """Return the needs of an in-place update: none of the array, unless the update combines with old elements."""
    first = NOTHING
    if value.opcode == "scatter":
        combiner = module.called(value)[0]
        combination = combiner.root
        while combination.opcode == "bitcast":
            (combination,) = combiner.operands(combination)
        if combination.opcode != "parameter":
            first = _count_part(module.computation(value.computation), value)
    return [first, *map(_take, operands[1:])]


def _pass_slice(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    numbers = [list(map(int, _NUMBERS.findall(part))) for part in value.attributes.get("slice", "").split("],")]
    is_whole = value.opcode == "slice" and need.least == value.shape.size
    is_block = is_whole and all(part[2:] in ([], [1]) for part in numbers)
    box = tuple((part[0], part[1]) for part in numbers if part) if is_block else None
    return [Need(need.asked, need.least, box), *map(_take, operands[1:])]


def _pass_gather(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    """Return the needs of a gather: the rows that it reads, at least one distinct row for each batch."""
    table, indices = operands
    row = math.prod(map(int, _NUMBERS.findall(value.attributes.get("slice_sizes", ""))))
    batches = _NUMBERS.findall(value.attributes.get("operand_batching_dims", ""))
    distinct = row * math.prod(table.shape.dimensions[int(number)] for number in batches)
    least = -(-need.least * distinct // (value.shape.size or 1))
    return [Need(min(need.asked, table.shape.size), least), _scale(indices, value, need)]


def _pass_new_update(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    """Return the needs of an update that creates a new array: the unchanged part, and the update."""
    if value.opcode == "dynamic-update-slice":
        part = operands[1].shape.size
        rest = Need(max(0, need.asked - part), max(0, need.least - part))
        return [rest, *map(_take, operands[1:])]
    updates = operands[-1].shape.size
    count = len(value.shape.leaves())
    rest = Need(need.asked, max(0, need.least - updates))
    return [rest] * count + [_take(operand) for operand in operands[count:]]


def _pass_parts(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    """Return the needs of each part of a concatenation; the other parts may cover a need for a part of the result."""
    size = value.shape.size
    sizes = [operand.shape.size for operand in operands]
    return [Need(min(part, need.asked), max(0, need.least - (size - part))) for part in sizes]


def _pass_pad(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    """Return the needs of a pad, which with negative padding drops elements at the edges."""
    inner = 1
    padding = value.attributes.get("padding", "").split("x")
    for length, places, text in zip(operands[0].shape.dimensions, value.shape.dimensions, padding, strict=False):
        low, _, gap = (*map(int, text.split("_")), 0)[:3]
        first = max(0, -(low // (gap + 1)))
        last = min(length - 1, (places - 1 - low) // (gap + 1))
        inner *= max(0, last - first + 1)
    return [Need(min(inner, need.asked), max(0, need.least - (value.shape.size - inner))), _take(operands[1])]


def _pass_broadcast(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    return [Need(min(operands[0].shape.size, need.asked), _scale(operands[0], value, need).least)]


def _pass_reduce(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    count = len(operands) // 2
    return [_scale(operand, value, need) for operand in operands[:count]] + [_take(start) for start in operands[count:]]


def _pass_dot(value: Instruction, operands: Sequence[Instruction], need: Need) -> Sequence[Need]:
    return [_scale(operand, value, need)._replace(asked=operand.shape.size) for operand in operands]


_RULES: dict[str, Callable[[Instruction, Sequence[Instruction], Need], Sequence[Need]]] = {
    "broadcast": _pass_broadcast,
    "concatenate": _pass_parts,
    "dot": _pass_dot,
    "dynamic-slice": _pass_slice,
    "dynamic-update-slice": _pass_new_update,
    "gather": _pass_gather,
    "pad": _pass_pad,
    "reduce": _pass_reduce,
    "scatter": _pass_new_update,
    "slice": _pass_slice,
}
