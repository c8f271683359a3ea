"""What the boxes of a graph say: one for each instruction that does work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import custom_fusion_kind, is_fusion, list_opcodes
from xla_inspect.hlo import IDLE, categorise
from xla_inspect.units import format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect.analysis import Flow, FlowGraph
    from xla_inspect.hlo import Computation, Instruction, Module

BOX_KINDS = {
    "kLoop": "kLoop",
    "kInput": "kInput",
    "kOutput": "kOutput",
    "kCustom": "kCustom",
    "library": "matmul or call of a library",
    "move": "data movement",
    "control": "control flow",
    "collective": "communication",
    "other": "other",
}
"""The classes of boxes, which colour them, with what the caption calls them."""
_CATEGORIES = {
    "linear algebra": "library",
    "custom": "library",
    "data movement": "move",
    "control flow and ordering": "control",
    "communication": "collective",
}
# What a summary of a fusion leaves out as long as something else is left.
_PLUMBING = IDLE | {"broadcast", "reshape", "copy", "transpose", "convert"}
MOST = 2


@dataclass(frozen=True, slots=True)
class Box:
    """What one box says.

    Attributes:
        kind: One of `KINDS`.
        is_result: Whether the computation returns what it makes.
        lines: Items by line: each line is a start and items that commas join, as many as there is room for.
        labels: What leaves it, one label a value, with and without its shape.
        told: All of it, for a pointer that rests on the box.
    """

    kind: str
    is_result: bool
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    labels: tuple[tuple[str, str], ...]
    told: str


def describe_boxes(flow: FlowGraph, computation: Computation, module: Module | None) -> tuple[Box, ...]:
    """Return a box for each node of a graph, in its order.

    Args:
        flow: The graph of the computation.
        computation: The computation.
        module: The module that holds it, or None, and then boxes do not say what a fusion holds.
    """
    made: dict[str, dict[tuple[int, ...], Flow]] = {}
    for value in (*flow.edges, *flow.results):
        made.setdefault(value.source, {})[value.index] = value
    reads: dict[str, list[Flow]] = {}
    for value in flow.inputs:
        reads.setdefault(value.user or "", []).append(value)
    results = {value.source for value in flow.results}
    return tuple(
        _box(
            node,
            [_input(computation.by_name[value.source], value) for value in reads.get(node.name, ())],
            made.get(node.name, {}).values(),
            module,
            is_result=node.name in results,
        )
        for node in flow.nodes
    )


def _box(
    node: Instruction, reads: Sequence[str], made: Iterable[Flow], module: Module | None, *, is_result: bool
) -> Box:
    kind, operation = name_kind(node), _operation(node)
    emitter = custom_fusion_kind(node) if is_fusion(node) else None
    head = f"{kind} {emitter}" if emitter else kind if is_fusion(node) else operation
    fused = tuple(list_opcodes(module, node)) if module is not None and is_fusion(node) else ()
    lines: list[tuple[str, tuple[str, ...]]] = [(node.name, ())]
    if fused:
        lines.append((f"{head}: ", summarise_opcodes(fused)))
    elif head != node.name:
        lines.append((head, ()))
    if reads:
        lines.append(("reads ", tuple(reads)))
    lines_of_tooltip = [f"{node.name} = {node.shape.plain} {operation}", f"{head}: {', '.join(fused)}" if fused else ""]
    lines_of_tooltip += [
        f"reads {', '.join(reads)}" if reads else "",
        *(f"makes {name_value(value)}" for value in made),
    ]
    return Box(
        kind,
        is_result,
        tuple(lines),
        tuple((name_value(value), format_bytes(value.shape.bytes)) for value in made),
        "\n".join(line for line in lines_of_tooltip if line),
    )


def summarise_opcodes(opcodes: Sequence[str]) -> tuple[str, ...]:
    """Return the opcodes that say what a fusion computes, those that occur more than once with their number."""
    work = [opcode for opcode in opcodes if opcode not in _PLUMBING] or opcodes
    return tuple(opcode if count == 1 else f"{count} {opcode}" for opcode, count in Counter(work).items())


def name_value(value: Flow) -> str:
    """Return a value as an edge is labelled: shape and bytes."""
    return f"{value.shape.plain} {format_bytes(value.shape.bytes)}"


def _input(source: Instruction, value: Flow) -> str:
    """A parameter by the name it has in Python, a small constant by its value, with bytes."""
    index = "".join(f"{{{number}}}" for number in value.index)
    if source.opcode == "parameter":
        called = source.op_name or source.name
        # What a loop carries is named after the loop; only an argument is named as in Python.
        return f"{source.name if '/' in called else called}{index} {format_bytes(value.shape.bytes)}"
    literal = source.literal or source.name
    return literal if len(literal) <= len("-1.000000e+00") else f"constant {format_bytes(value.shape.bytes)}"


def _operation(node: Instruction) -> str:
    if node.opcode == "custom-call":
        return node.custom_call_target or node.opcode
    if node.opcode.endswith("-start"):
        return f"{node.wrapped or node.opcode.removesuffix('-start')}, asynchronous"
    return node.opcode


def name_kind(node: Instruction) -> str:
    """Return which of `BOX_KINDS` an instruction is."""
    if is_fusion(node):
        return node.fusion_kind if node.fusion_kind in BOX_KINDS else "other"
    return _CATEGORIES.get(categorise(node.wrapped or node.opcode), "other")


def fit_line(line: tuple[str, tuple[str, ...]], room: int) -> str:
    """Return a line in as many characters as there is room for; `+2` at its end stands for two items that had none."""
    start, items = line
    for count in range(len(items), 0, -1):
        rest = f" +{len(items) - count}" if count < len(items) else ""
        text = f"{start}{', '.join(items[:count])}{rest}"
        if len(text) <= room:
            return text
    return shorten(start + ", ".join(items), room)
