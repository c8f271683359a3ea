"""The CPU kernels of instructions that share a kernel with an equal instruction or with a whole loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import Meanings, walk_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from xla_inspect.hlo import Instruction, Module

SMALL_CALL = "xla_cpu_small_call"
"""The mark of a call whose whole computation, usually a small loop, is compiled into one kernel."""


def assign_kernels(module: Module, kernels: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the kernel of each instruction that shares a kernel of another name, by instruction name.

    The CPU compiler generates code once for fusions that compute the same, and names the code after one of them. For an
    operation of the runtime, such as a sort, it generates only the function that the operation applies, such as the
    comparison. All instructions inside a call marked with `SMALL_CALL` have that call's kernel.

    Args:
        module: The optimized module.
        kernels: The kernels with available code by name, each with the functions that its code defines.
    """
    assigned: dict[str, str] = {}
    defined = {function: kernel for kernel, functions in kernels.items() for function in functions}
    alike: dict[Hashable, str] = {}
    meanings = Meanings()
    for computation in module.computations:
        for instruction in computation:
            if instruction.name in kernels and instruction.calls:
                alike.setdefault(_describe(module, instruction, meanings), instruction.name)
    for computation in module.computations:
        for instruction in computation:
            whole = f"{instruction.name}_computation"
            if whole in kernels and SMALL_CALL in instruction.attributes.get("frontend_attributes", ""):
                _, *inside = walk_inside(module, instruction)
                assigned.update((member.name, whole) for member in inside)
            elif instruction.name in kernels:
                continue
            # The runtime executes this operation itself and calls generated code only for the applied function.
            elif instruction.opcode != "fusion":
                applied = (defined[name] for names in instruction.calls.values() for name in names if name in defined)
                assigned.update((instruction.name, kernel) for kernel in applied)
            elif same := alike.get(_describe(module, instruction, meanings)):
                assigned.setdefault(instruction.name, same)
    return assigned


def _describe(module: Module, instruction: Instruction, meanings: Meanings) -> Hashable:
    """Return a description that two instructions share if they compute the same."""
    callees = (meanings.find(module, callee)[callee.root] for callee in module.called(instruction))
    return instruction.opcode, instruction.shape.text, instruction.fusion_kind, *callees
