"""The part of a module that computes one value of its entry computation from other values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.hlo import Instruction, parse_shape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from xla_inspect.hlo import Computation, Module, Shape


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
    instructions = {instruction.name: instruction for instruction in module.entry if instruction.name in names}
    for number, name in enumerate(inputs):
        if name in names and name != result:
            parameter = make_instruction(name, "parameter", instructions[name].shape)
            instructions[name] = replace(parameter, literal=str(number))
    return _replace_entry(module, instructions.values(), result)


def return_values(module: Module, name: str, values: Sequence[Instruction]) -> Module:
    """Return a module whose result is a tuple with this name, of values of its entry computation or new ones."""
    entry = module.entry
    shape = parse_shape(f"({', '.join(value.shape.plain for value in values)})")
    names = tuple(value.name for value in values)
    new = (value for value in values if value.name not in entry.by_name)
    return _replace_entry(module, [*entry, *new, make_instruction(name, "tuple", shape, names)], name)


def inline_calls(module: Module, opcodes: Collection[str], mark: str) -> Module:
    """Return a module whose entry computation has the instructions of the functions that it calls.

    Args:
        module: The module.
        opcodes: The operations that are replaced: calls, or calls and fusions.
        mark: The text that is added to a name that occurs again; `{}` in it is the number of instructions before.
    """
    entry = module.entry
    instructions: dict[str, Instruction] = {}

    def add(computation: Computation, arguments: Sequence[str]) -> str:
        """Add the instructions of a function, whose parameters have names already, and return the result's name."""
        names: dict[str, str] = {}
        for instruction in computation:
            operands = tuple(names[operand] for operand in instruction.operands)
            number = instruction.parameter_number
            if number is not None and computation is not entry:
                names[instruction.name] = arguments[number]
            elif instruction.opcode in opcodes:
                names[instruction.name] = add(module.computation(instruction.called[0]), operands)
            else:
                name = instruction.name
                while name in instructions:
                    name += mark.format(len(instructions))
                names[instruction.name] = name
                instructions[name] = replace(instruction, name=name, operands=operands)
        return names[computation.root.name]

    result = add(entry, ())
    return _replace_entry(module, instructions.values(), result)


def make_instruction(
    name: str, opcode: str, shape: Shape, operands: tuple[str, ...] = (), attributes: str = ""
) -> Instruction:
    """Return an instruction that calls no function, for an entry computation."""
    return Instruction(name, opcode, shape, operands, "", "", is_root=False, attribute_text=attributes, calls={})


def _replace_entry(module: Module, instructions: Iterable[Instruction], result: str) -> Module:
    """Return a module with other instructions in its entry computation, and only the computations that they call."""
    name = module.entry.name
    changed = {one.name: replace(one, computation=name, is_root=one.name == result) for one in instructions}
    entry = replace(module.entry, instructions=(*changed.values(),), root=changed[result])
    called = {*entry.called}
    for computation in reversed(module.computations):
        called.update(computation.called if computation.name in called else ())
    functions = [computation for computation in module.computations if computation.name in called]
    return replace(module, computations=(*functions, entry))
