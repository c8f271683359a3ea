"""The opcodes that only rename, copy, rewrite or pack a value, and a graph search that follows values through them."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from xla_inspect.hlo import Instruction, Module

RENAMING = frozenset({"bitcast", "opt-barrier", "reshape"})
"""Opcodes that only rename: the result is the operand, at most in another shape."""

COPYING = RENAMING | {"copy", "copy-done", "copy-start"}
"""Opcodes whose result is the value of their operand, perhaps in another place."""

REWRITING = COPYING | {"bitcast-convert", "convert", "reduce-precision", "transpose"}
"""Opcodes whose result is the value of their operand, perhaps in another place, order or type."""

PACKING = frozenset({"get-tuple-element", "tuple"})
"""Opcodes that pack values into a tuple or select one of them."""


def search[Node: Hashable](starts: Iterable[Node], step: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield the start nodes and all nodes that are reachable from them, nearest first.

    Each node is visited once, so a search in a module always ends.
    """
    # A dictionary serves as an ordered set, so the start nodes keep their order.
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
    """Yield an instruction and, transitively, all instructions of the computations that it calls, nearest first."""
    return search([instruction], lambda caller: chain.from_iterable(module.called(caller)))


def is_passed_on(instruction: Instruction) -> bool:
    """Return whether an instruction passes on its operands: it renames, packs, copies or waits for them."""
    return instruction.opcode in COPYING | PACKING or instruction.opcode.endswith("-done")


def is_moved(instruction: Instruction) -> bool:
    """Return whether an instruction passes on its operand, possibly in an order that the compiler chose."""
    # A transpose without a name from JAX is one that the compiler added.
    is_turned = instruction.opcode == "transpose" and not instruction.op_name
    return is_turned or instruction.opcode in COPYING or instruction.opcode.endswith("-done")


def skip_renaming(module: Module, value: Instruction) -> Instruction:
    """Follow a value back through instructions that only rename it, and return the instruction that produces it."""
    while value.opcode in RENAMING and value.operands:
        value = module.operands(value)[0]
    return value
