"""The part of a module that computes one value of its entry computation from other values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from xla_inspect.hlo import Computation, Instruction, Module

_CALLS = frozenset({"call", "fusion"})


def list_part(module: Module, result: str, inputs: Collection[str]) -> set[str]:
    """Return the names of a value, of the instructions that compute it from the inputs, and of the inputs it needs."""
    names: set[str] = set()
    waiting = [result]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            if name == result or name not in inputs:
                waiting += module.entry.by_name[name].operands
    return names


def cut_part(module: Module, result: str, inputs: Sequence[str]) -> Module:
    """Return a module that computes one value, with the inputs as its parameters in their order."""
    names = list_part(module, result, inputs)
    numbers = {name: number for number, name in enumerate(inputs) if name in names}
    instructions = tuple(
        _make_parameter(instruction, numbers[instruction.name])
        if instruction.name in numbers and instruction.name != result
        else replace(instruction, is_root=instruction.name == result)
        for instruction in module.entry
        if instruction.name in names
    )
    return _replace_entry(module, instructions)


def inline_fusions(module: Module) -> Module:
    """Return a module whose entry computation has the instructions of fusions and calls instead of these."""
    entry = module.entry
    instructions: list[Instruction] = []
    names_in_use: set[str] = set()

    def add(computation: Computation, arguments: Sequence[str]) -> str:
        names: dict[str, str] = {}
        for instruction in computation:
            operands = tuple(names[operand] for operand in instruction.operands)
            number = instruction.parameter_number
            if number is not None and computation is not entry:
                names[instruction.name] = arguments[number]
            elif instruction.opcode in _CALLS:
                names[instruction.name] = add(module.computation(instruction.called[0]), operands)
            else:
                name = instruction.name
                while name in names_in_use:
                    name += ".copy"
                names_in_use.add(name)
                names[instruction.name] = name
                copy = replace(instruction, name=name, operands=operands, computation=entry.name, is_root=False)
                instructions.append(copy)
        return names[computation.root.name]

    result = add(entry, ())
    return _replace_entry(module, tuple(replace(one, is_root=one.name == result) for one in instructions))


def _make_parameter(instruction: Instruction, number: int) -> Instruction:
    return replace(
        instruction,
        opcode="parameter",
        operands=(),
        is_root=False,
        attribute_text="",
        calls={},
        literal=str(number),
        wrapped=None,
        operand_shapes=None,
        operand_indices=None,
    )


def _replace_entry(module: Module, instructions: tuple[Instruction, ...]) -> Module:
    """Return a module with other instructions in its entry computation, and only the computations that they call."""
    root = next(instruction for instruction in instructions if instruction.is_root)
    entry = replace(module.entry, instructions=instructions, root=root)
    called, waiting = set[str](), [*entry.called]
    while waiting:
        name = waiting.pop()
        if name not in called:
            called.add(name)
            waiting += module.computation(name).called
    functions = [computation for computation in module.computations if computation.name in called]
    return replace(module, computations=(*functions, entry))
