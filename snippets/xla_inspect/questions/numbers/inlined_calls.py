"""A module without calls of functions, so that each value inside a function can be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_inspect.hlo import Computation, Instruction, Module


def inline_calls(module: Module) -> Module:
    """Return a module whose entry computation has the instructions of the functions that it calls."""
    instructions: dict[str, Instruction] = {}

    def add(computation: Computation, names: dict[str, str]) -> str:
        """Add the instructions of a function, whose parameters have names already, and return the result's name."""
        for instruction in computation:
            operands = tuple(names[operand] for operand in instruction.operands)
            if instruction.opcode == "call":
                [function] = module.called(instruction)
                parameters = [parameter.name for parameter in function.parameters]
                names[instruction.name] = add(function, dict(zip(parameters, operands, strict=True)))
            elif instruction.name not in names:
                # A function that is called twice adds its instructions twice.
                name = instruction.name
                name = f"{name}.call.{len(instructions)}" if name in instructions else name
                names[instruction.name] = name
                entry = module.entry.name
                instructions[name] = replace(
                    instruction, name=name, operands=operands, computation=entry, is_root=False
                )
        return names[computation.root.name]

    result = add(module.entry, {})
    instructions[result] = root = replace(instructions[result], is_root=True)
    entry = replace(module.entry, instructions=(*instructions.values(),), root=root)
    others = [computation for computation in module.computations if not computation.is_entry]
    return replace(module, computations=(*others, entry))
