"""A graph of a computation's working instructions, with instructions that only feed or rename folded into it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


type _Value = Flow | tuple[_Value, ...]
"""A value by its maker, or a tuple of values."""


def trace_flow(computation: Computation) -> FlowGraph:
    """Follow each value of a computation through tuples and renaming to the instructions that use it."""
    values: dict[str, _Value] = {}
    nodes: list[Instruction] = []
    edges: dict[Flow, None] = {}
    inputs: dict[Flow, None] = {}
    for instruction in computation:
        taken = [values[name] for name in instruction.operands]
        values[instruction.name] = value = _make_value(instruction, taken)
        if isinstance(value, tuple) or value.source != instruction.name or instruction.opcode in IDLE:
            continue
        nodes.append(instruction)
        for operand in _list_made(taken):
            flows = inputs if computation.by_name[operand.source].opcode in IDLE else edges
            flows[replace(operand, user=instruction.name)] = None
    made = _list_made([values[computation.root.name]])
    results = dict.fromkeys(flow for flow in made if computation.by_name[flow.source].opcode not in IDLE)
    return FlowGraph(tuple(nodes), tuple(edges), tuple(inputs), tuple(results))


def _make_value(instruction: Instruction, taken: Sequence[_Value]) -> _Value:
    """Return the value of an instruction: a new value, or an operand under another name."""
    first = taken[0] if taken else None
    if instruction.opcode == "tuple":
        return tuple(taken)
    if instruction.opcode == "bitcast" and first is not None:
        return first
    if instruction.opcode == "get-tuple-element":
        number = int(instruction.attributes["index"])
        if isinstance(first, Flow):
            return replace(first, index=(*first.index, number), shape=instruction.shape)
        element = first[number] if first else ()
        return replace(element, shape=instruction.shape) if isinstance(element, Flow) else element
    if instruction.opcode.endswith(("-done", "-update")) and isinstance(first, Flow):
        return Flow(first.source, (), instruction.shape, None)
    return Flow(instruction.name, (), instruction.shape, None)


def _list_made(values: Sequence[_Value]) -> Iterator[Flow]:
    """Yield the values that instructions made, those in tuples too."""
    for value in values:
        if isinstance(value, Flow):
            yield value
        else:
            yield from _list_made(value)
