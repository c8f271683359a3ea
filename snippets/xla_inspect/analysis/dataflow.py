"""A computation as a graph of the instructions that do work, with what only feeds or renames folded into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo import Computation, Instruction, Shape


@dataclass(frozen=True, slots=True)
class Flow:
    """One value on its way from the instruction that makes it.

    Attributes:
        source: The name of the instruction that makes it.
        index: Which element of that instruction's result, `()` being the result itself.
        shape: Its shape.
        user: The name of the instruction that takes it, or None when it is returned.
    """

    source: str
    index: tuple[int, ...]
    shape: Shape
    user: str | None


@dataclass(frozen=True)
class FlowGraph:
    """The work of a computation and the values between.

    Attributes:
        nodes: The instructions that do work, in the order of the text; a start stands for its done as well.
        edges: The values that go from one of them to another, each once.
        inputs: The parameters and constants that each node reads, each once.
        results: The values that the computation returns, those that are made by a node.
    """

    nodes: tuple[Instruction, ...]
    edges: tuple[Flow, ...]
    inputs: tuple[Flow, ...]
    results: tuple[Flow, ...]


@dataclass(frozen=True, slots=True)
class _FlowValue:
    """A value by its maker, or a tuple of values."""

    source: Instruction | None
    index: tuple[int, ...]
    shape: Shape
    elements: tuple[_FlowValue, ...] = ()

    def element(self, number: int) -> _FlowValue:
        """An element of a tuple, whether it was put together here or made whole by an instruction."""
        if self.source is None:
            return self.elements[number]
        shape = self.shape.elements[number] if number < len(self.shape.elements) else self.shape
        return _FlowValue(self.source, (*self.index, number), shape)

    def leaves(self) -> Iterator[_Leaf]:
        """The values in it that an instruction made."""
        waiting = [self]
        while waiting:
            value = waiting.pop()
            if value.source is not None:
                yield _Leaf(value.source, value.index, value.shape)
            waiting.extend(reversed(value.elements))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value that one instruction made."""

    source: Instruction
    index: tuple[int, ...]
    shape: Shape

    @property
    def is_input(self) -> bool:
        return self.source.opcode in IDLE

    def flow(self, user: str | None) -> Flow:
        return Flow(self.source.name, self.index, self.shape, user)


def trace_flow(computation: Computation) -> FlowGraph:
    """Follow each value of a computation through tuples and renaming to the instructions that use it."""
    values: dict[str, _FlowValue] = {}
    nodes: list[Instruction] = []
    edges: dict[Flow, None] = {}
    inputs: dict[Flow, None] = {}
    for instruction in computation:
        taken = [values[name] for name in instruction.operands]
        values[instruction.name] = value = _value(instruction, taken)
        if value.source is not instruction or instruction.opcode in IDLE:
            continue
        nodes.append(instruction)
        for leaf in (leaf for operand in taken for leaf in operand.leaves()):
            (inputs if leaf.is_input else edges)[leaf.flow(instruction.name)] = None
    results = dict.fromkeys(leaf.flow(None) for leaf in values[computation.root.name].leaves() if not leaf.is_input)
    return FlowGraph(tuple(nodes), tuple(edges), tuple(inputs), tuple(results))


def _value(instruction: Instruction, taken: list[_FlowValue]) -> _FlowValue:
    """What an instruction yields: something new, or an operand under another name."""
    if instruction.opcode == "tuple":
        return _FlowValue(None, (), instruction.shape, tuple(taken))
    if instruction.opcode == "get-tuple-element":
        value = taken[0].element(int(instruction.attributes["index"]))
        return _FlowValue(value.source, value.index, instruction.shape, value.elements)
    if instruction.opcode == "bitcast":
        return taken[0]
    if instruction.opcode.endswith(("-done", "-update")) and taken and taken[0].source is not None:
        return _FlowValue(taken[0].source, (), instruction.shape)
    return _FlowValue(instruction, (), instruction.shape)
