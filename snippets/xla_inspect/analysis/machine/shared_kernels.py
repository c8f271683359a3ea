"""The CPU kernels of instructions without a kernel of their own name: that of an equal instruction, or of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import Meanings, walk_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from xla_inspect.hlo import Instruction, Module

SMALL_CALL = "xla_cpu_small_call"
"""What marks a call whose computation, a small loop mostly, is one kernel with all that it holds."""


def assign_kernels(module: Module, kernels: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return instruction to kernel, for those that no kernel is named after.

    The CPU's compiler generates code once for fusions that compute the same, and names it after one of them. Of what
    the runtime does itself, such as a sort, it generates the function that is applied, such as the comparison.

    Args:
        module: The optimized module.
        kernels: The names of kernels whose code there is, each with the functions that its code defines.
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
                assigned.update((item.name, whole) for item in inside)
            elif instruction.name in kernels:
                continue
            elif instruction.opcode != "fusion":
                applied = (defined[name] for names in instruction.calls.values() for name in names if name in defined)
                assigned.update((instruction.name, kernel) for kernel in applied)
            elif same := alike.get(_describe(module, instruction, meanings)):
                assigned.setdefault(instruction.name, same)
    return assigned


def _describe(module: Module, instruction: Instruction, meanings: Meanings) -> Hashable:
    """Return a description that two instructions share if they compute the same."""
    callees = (meanings.find(module, item)[item.root] for item in module.called(instruction))
    return instruction.opcode, instruction.shape.text, instruction.fusion_kind, *callees
