"""The data-flow graph of a computation's working instructions, without instructions that only rename values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo import Computation, Instruction, Shape


@dataclass(frozen=True, slots=True)
class Flow:
    """One value that flows from the instruction that produces it to a user.

    Attributes:
        source: The name of the instruction that produces the value.
        index: The tuple index of the value in that instruction's result; `()` is the whole result.
        shape: The shape of the value.
        user: The name of the instruction that uses the value, or None if the computation returns it.
    """

    source: str
    index: tuple[int, ...]
    shape: Shape
    user: str | None


@dataclass(frozen=True)
class FlowGraph:
    """The working instructions of a computation, and the values that flow between them.

    Attributes:
        nodes: The instructions that do work, in the order of the text; an asynchronous start also represents its done.
        edges: The values that flow from one node to another, without duplicates.
        inputs: The parameters and constants that each node reads, without duplicates.
        results: The values that a node produces and the computation returns.
    """

    nodes: tuple[Instruction, ...]
    edges: tuple[Flow, ...]
    inputs: tuple[Flow, ...]
    results: tuple[Flow, ...]


type _Value = Flow | tuple[_Value, ...]
"""A value with its producer, or a tuple of values."""


def trace_flow(computation: Computation) -> FlowGraph:
    """Return the data-flow graph of a computation: each value is followed through tuples and renaming to its users."""
    values: dict[str, _Value] = {}
    nodes: list[Instruction] = []
    edges: dict[Flow, None] = {}
    inputs: dict[Flow, None] = {}
    for instruction in computation:
        arguments = [values[name] for name in instruction.operands]
        values[instruction.name] = value = _make_value(instruction, arguments)
        # These instructions only rename, pack or provide values, so they are not nodes of the graph.
        if isinstance(value, tuple) or value.source != instruction.name or instruction.opcode in IDLE:
            continue
        nodes.append(instruction)
        for operand in _list_made(arguments):
            flows = inputs if computation.by_name[operand.source].opcode in IDLE else edges
            # A dictionary serves as an ordered set, so a value that is used twice has one edge.
            flows[replace(operand, user=instruction.name)] = None
    returns = _list_made([values[computation.root.name]])
    results = dict.fromkeys(flow for flow in returns if computation.by_name[flow.source].opcode not in IDLE)
    return FlowGraph(tuple(nodes), tuple(edges), tuple(inputs), tuple(results))


def _make_value(instruction: Instruction, operands: Sequence[_Value]) -> _Value:
    """Return the value of an instruction: a new value, a tuple of its operands, or an operand or its element."""
    first = operands[0] if operands else None
    if instruction.opcode == "tuple":
        return tuple(operands)
    if instruction.opcode == "bitcast" and first is not None:
        return first
    if instruction.opcode == "get-tuple-element":
        number = int(instruction.attributes["index"])
        if isinstance(first, Flow):
            return replace(first, index=(*first.index, number), shape=instruction.shape)
        element = first[number] if first else ()
        return replace(element, shape=instruction.shape) if isinstance(element, Flow) else element
    # The done of an asynchronous operation has the value of its start, so the start represents both.
    if instruction.opcode.endswith(("-done", "-update")) and isinstance(first, Flow):
        return Flow(first.source, (), instruction.shape, None)
    return Flow(instruction.name, (), instruction.shape, None)


def _list_made(values: Sequence[_Value]) -> Iterator[Flow]:
    """Yield the single values among some values, including those inside tuples."""
    for value in values:
        if isinstance(value, Flow):
            yield value
        else:
            yield from _list_made(value)
