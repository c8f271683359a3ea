"""The instruction at which a difference between two modules begins, or at which a NaN or an infinity first exists."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.analysis import find_lines, read_line, show_place
from xla_inspect.errors import InspectError
from xla_inspect.evaluation import hash_bits, read_tiling
from xla_inspect.questions.numbers.array_difference import compare_results, has_numbers, widen
from xla_inspect.questions.numbers.finding import Origin
from xla_inspect.questions.numbers.module_runner import FIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.evaluation import Tiling
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.questions.numbers.module_runner import ModuleRunner

type Values = Mapping[str, Sequence[np.ndarray[Any, Any]]]
"""The arrays of each value by device."""

_MOVES = frozenset({"bitcast", "broadcast", "convert", "copy", "reshape", "transpose"})
_STRUCTURE = frozenset({"tuple", "get-tuple-element", "opt-barrier", "optimization-barrier"})


def find_origin(capture: Capture, before: Module, after: Module, runner: ModuleRunner) -> Origin:
    """Return the first instruction whose value a pass changed, although its operands have the same values as before.

    If a pass only removed instructions, this is the first one that it removed.
    """
    try:
        old, new = runner.run_all_values(before), runner.run_all_values(after)
    except InspectError as error:
        return Origin(note=str(error))
    origin = _find_changed(capture, (after, new), (before, old), runner)
    return origin if origin.instruction else _find_changed(capture, (before, old), (after, new), runner)


def _find_changed(
    capture: Capture, side: tuple[Module, Values], other: tuple[Module, Values], runner: ModuleRunner
) -> Origin:
    """Return the first instruction whose value the other module lacks although it has those of all operands."""
    (module, new), (before, old) = side, other
    values = {_summarize(shards) for shards in (*old.values(), *([array] for array in runner.arrays))}
    constants, padded = list_constant_values(module), _list_padded(before)

    def is_same(instruction: Instruction) -> bool:
        # A value that depends on constants only belongs to the operation that uses it.
        if instruction.opcode in FIXED or instruction.name in constants:
            return True
        shards, others = new[instruction.name], old.get(instruction.name)
        if (
            others is not None
            and before.entry.by_name[instruction.name].opcode == instruction.opcode
            and (others[0].shape, others[0].dtype) == (shards[0].shape, shards[0].dtype)
        ):
            return compare_results([others], [shards]) is None
        # A pass may give a value another name, type or layout, so a value with the same set of numbers is the same.
        joined = [
            [tiling.join(shards, shape)[0]] for tiling, shape in padded if tiling.shrink(shape) == shards[0].shape
        ]
        return any(_summarize(one) in values for one in (shards, *joined))

    return _locate(capture, module, new, is_same)


def find_foreign(
    capture: Capture, module: Module, runner: ModuleRunner, other: Module, other_runner: ModuleRunner
) -> Origin:
    """Return the first instruction of a module whose value no instruction of another program's module has."""
    try:
        values, others = runner.run_all_values(module), other_runner.run_all_values(other)
    except InspectError as error:
        return Origin(note=str(error))
    exact = {hash_bits(shards) for shards in others.values()}
    sets = {_summarize(shards) for shards in (*others.values(), *([array] for array in runner.arrays))}
    constants = list_constant_values(module)

    def is_shared(instruction: Instruction) -> bool:
        # The names of the two programs are unrelated, and only one of them may move the elements of a value.
        if instruction.opcode in FIXED or instruction.name in constants:
            return True
        shards = values[instruction.name]
        return hash_bits(shards) in exact or (instruction.opcode in _MOVES and _summarize(shards) in sets)

    return _locate(capture, module, values, is_shared)


def find_first(capture: Capture, module: Module, kind: str, runner: ModuleRunner) -> Origin:
    """Return the first instruction of a module that has a `NaN` or an `infinity` although no operand has one."""
    try:
        values = runner.run_all_values(module)
    except InspectError as error:
        return Origin(note=str(error))
    test, literal = (np.isnan, "nan") if kind == "NaN" else (np.isinf, "inf")

    def is_free(instruction: Instruction) -> bool:
        if instruction.parameter_number is not None:
            return not has_numbers(runner.arrays[instruction.parameter_number], test)
        if instruction.opcode in FIXED:
            return literal not in (instruction.literal or "")
        return not any(has_numbers(shard, test) for shard in values[instruction.name])

    return _locate(capture, module, values, is_free)


def _locate(capture: Capture, module: Module, values: Values, is_same: Callable[[Instruction], bool]) -> Origin:
    """Return the first instruction behind the result that is not the same, although all of its operands are."""
    entry = module.entry

    @cache
    def test(name: str) -> bool:
        instruction = entry.by_name[name]
        if name in values or instruction.opcode in FIXED:
            return is_same(instruction)
        # A tuple has no value of its own; of other instructions without an array, such as loops, it is unknown.
        return instruction.opcode in _STRUCTURE and all(map(test, instruction.operands))

    first, waiting = None, {entry.root.name}
    for instruction in reversed(entry.instructions):
        if instruction.name in waiting and not test(instruction.name):
            different = [operand for operand in instruction.operands if not test(operand)]
            waiting.update(different)
            if not different and instruction.opcode not in _STRUCTURE:
                first = instruction
    if first is None:
        return Origin(note="no operation with the same operands computes another value")
    line = find_lines(capture, module).get(first)
    where, text = (show_place(line), read_line(capture, line)) if line else ("", "")
    return Origin(first.name, first.opcode, where, text)


def list_constant_values(module: Module) -> set[str]:
    """Return the names of the entry computation's values that depend on no argument."""
    names: set[str] = set()
    for instruction in module.entry:
        operands = instruction.operands
        if names.issuperset(operands) if operands else instruction.opcode in FIXED - {"parameter"}:
            names.add(instruction.name)
    return names


def _list_padded(module: Module) -> set[tuple[Tiling, tuple[int, ...]]]:
    """Return how values are divided that do not fill the tiles of all devices, with their shapes."""
    return {
        (tiling, value.shape.dimensions)
        for value in module.entry
        if (text := value.attributes.get("sharding"))
        and (tiling := read_tiling(text, value.shape.rank, module.num_partitions))
        and any(size % count for size, count in zip(value.shape.dimensions, tiling.counts, strict=True))
    }


def _summarize(shards: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """Return the set of the numbers of an array, which a transpose, a broadcast or a conversion does not change."""
    return np.unique(widen(np.stack(shards))).tobytes()
