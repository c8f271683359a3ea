"""Which kernel of a CPU runs an instruction that has none of its own name: that of an equal one, or of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module

SMALL_CALL = "xla_cpu_small_call"
"""What marks a call whose computation, a small loop mostly, is one kernel with all that it holds."""

_OF_PLACE = frozenset(
    {"metadata", "backend_config", "frontend_attributes", "calls", "to_apply", "control-predecessors"}
)


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
    for computation in module.computations:
        for instruction in computation:
            if instruction.name in kernels and instruction.calls:
                alike.setdefault(_describe(module, instruction), instruction.name)
    for computation in module.computations:
        for instruction in computation:
            whole = f"{instruction.name}_computation"
            if whole in kernels and SMALL_CALL in instruction.attributes.get("frontend_attributes", ""):
                assigned.update(dict.fromkeys(_list_inside(module, instruction), whole))
            elif instruction.name in kernels:
                continue
            elif instruction.opcode != "fusion":
                applied = (defined[name] for names in instruction.calls.values() for name in names if name in defined)
                assigned.update((instruction.name, kernel) for kernel in applied)
            elif same := alike.get(_describe(module, instruction)):
                assigned.setdefault(instruction.name, same)
    return assigned


def _list_inside(module: Module, instruction: Instruction) -> Iterator[str]:
    """Yield the names of what an instruction calls, and of what that calls."""
    for computation in module.called(instruction):
        for inner in computation:
            yield inner.name
            yield from _list_inside(module, inner)


def _describe(module: Module, instruction: Instruction) -> Hashable:
    """Return what two instructions that compute the same have in common."""
    called = tuple(_describe_computation(module, each) for each in module.called(instruction))
    return instruction.opcode, instruction.shape.text, instruction.fusion_kind, called


def _describe_computation(module: Module, computation: Computation) -> Hashable:
    numbers: Mapping[str, int] = {each.name: number for number, each in enumerate(computation)}
    return tuple(
        (
            each.opcode,
            each.shape.text,
            each.literal,
            each.parameter_number,
            tuple(numbers.get(name, -1) for name in each.operands),
            tuple(sorted((name, value) for name, value in each.attributes.items() if name not in _OF_PLACE)),
            tuple(_describe_computation(module, called) for called in module.called(each)),
        )
        for each in computation
    )
