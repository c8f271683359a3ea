"""The one definition of the opcodes that only rename a value, and the search that follows values through them."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from xla_inspect.hlo import Instruction, Module

RENAMING = frozenset({"bitcast", "opt-barrier", "reshape"})
"""Opcodes that only rename: the result is the operand, in another shape at most."""

COPYING = RENAMING | {"copy", "copy-done", "copy-start"}
"""Opcodes whose result is the value of their operand, perhaps in another place."""

REWRITING = COPYING | {"bitcast-convert", "convert", "reduce-precision", "transpose"}
"""Opcodes whose result is the value of their operand, perhaps in another place, order or type."""

PACKING = frozenset({"get-tuple-element", "tuple"})
"""Opcodes that put values together and pick one of them."""


def search[Node: Hashable](starts: Iterable[Node], step: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield the nodes that are reached from some, those included, the nearest first.

    Each node is visited once, so a search in a module ends by itself and needs no limit.
    """
    visited = dict.fromkeys(starts)
    waiting = deque(visited)
    while waiting:
        node = waiting.popleft()
        yield node
        for following in step(node):
            if following not in visited:
                visited[following] = None
                waiting.append(following)


def walk_inside(module: Module, instruction: Instruction) -> Iterator[Instruction]:
    """Yield an instruction with all that it calls, and all that is called there, the nearest first."""
    return search([instruction], lambda caller: chain.from_iterable(module.called(caller)))


def is_passed_on(instruction: Instruction) -> bool:
    """Return whether an instruction hands its operands on: it renames, packs, copies or waits for them."""
    return instruction.opcode in COPYING | PACKING or instruction.opcode.endswith("-done")


def is_moved(instruction: Instruction) -> bool:
    """Return whether an instruction hands its operand on, perhaps in an order that the program does not ask for."""
    is_turned = instruction.opcode == "transpose" and not instruction.op_name
    return is_turned or instruction.opcode in COPYING or instruction.opcode.endswith("-done")


def skip_renaming(module: Module, value: Instruction) -> Instruction:
    """Return the instruction behind those that only rename its result."""
    while value.opcode in RENAMING and value.operands:
        value = module.operands(value)[0]
    return value
