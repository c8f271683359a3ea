"""Readable HLO text: instructions without the attributes that only a compiler needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo import INCIDENTAL

if TYPE_CHECKING:
    from collections.abc import Collection

    from xla_inspect.hlo import Computation, Instruction


def print_computation(computation: Computation, hidden: Collection[str] = INCIDENTAL, *, layouts: bool = True) -> str:
    """Return a computation as HLO text without some attributes.

    Args:
        computation: The computation to print.
        hidden: The attributes to leave out.
        layouts: Whether shapes keep their layouts.
    """
    lines = (f"  {print_instruction(instruction, hidden, layouts=layouts)}" for instruction in computation)
    head = f"{'ENTRY ' if computation.is_entry else ''}%{computation.name}"
    return "\n".join((f"{head} {{", *lines, "}"))


def print_instruction(instruction: Instruction, hidden: Collection[str] = INCIDENTAL, *, layouts: bool = True) -> str:
    """Return an instruction as HLO text without some attributes.

    Args:
        instruction: The instruction to print.
        hidden: The attributes to leave out.
        layouts: Whether the shape keeps its layout.
    """
    shape = instruction.shape.text if layouts else instruction.shape.plain
    inside = (
        ", ".join(f"%{name}" for name in instruction.operands) if instruction.literal is None else instruction.literal
    )
    attributes = (f", {name}={text}" for name, text in instruction.attributes.items() if name not in hidden)
    root = "ROOT " if instruction.is_root else ""
    return f"{root}%{instruction.name} = {shape} {_opcode(instruction)}({inside}){''.join(attributes)}"


def _opcode(instruction: Instruction) -> str:
    # Print the short form of XLA's own text: `slice-start` for an `async-start` around a slice.
    if instruction.wrapped and instruction.opcode.startswith("async-"):
        return f"{instruction.wrapped}-{instruction.opcode.removeprefix('async-')}"
    return instruction.opcode
