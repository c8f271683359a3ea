"""The texts of a graph's boxes: one box for each instruction that does work."""

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
    "library": "matmul or library call",
    "move": "data movement",
    "control": "control flow",
    "collective": "communication",
    "other": "other",
}
"""The CSS classes that color the boxes, each with its name in the caption."""
_CATEGORIES = {
    "linear algebra": "library",
    "custom": "library",
    "data movement": "move",
    "control flow and ordering": "control",
    "communication": "collective",
}
# Opcodes that a summary of a fusion leaves out, unless the fusion has no others.
_PLUMBING = IDLE | {"broadcast", "reshape", "copy", "transpose", "convert"}
MOST = 2


@dataclass(frozen=True, slots=True)
class Box:
    """The text of one box.

    Attributes:
        kind: One of `BOX_KINDS`.
        is_result: Whether the computation returns a value of this box.
        lines: The lines of text: each is a prefix and its items; only the items that fit are shown.
        labels: For each value that leaves the box, a label with its shape and a label with only its size.
        tooltip: The whole text, shown when the pointer hovers over the box.
    """

    kind: str
    is_result: bool
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    labels: tuple[tuple[str, str], ...]
    tooltip: str


def describe_boxes(flow: FlowGraph, computation: Computation, module: Module | None) -> tuple[Box, ...]:
    """Return a box for each node of a graph, in its order.

    Args:
        flow: The graph of the computation.
        computation: The computation.
        module: The module of the computation. Without it, the boxes do not list the opcodes inside a fusion.
    """
    values_of: dict[str, dict[tuple[int, ...], Flow]] = {}
    for value in (*flow.edges, *flow.results):
        values_of.setdefault(value.source, {})[value.index] = value
    reads: dict[str, list[Flow]] = {}
    for value in flow.inputs:
        reads.setdefault(value.user or "", []).append(value)
    results = {value.source for value in flow.results}
    return tuple(
        _box(
            node,
            [_input(computation.by_name[value.source], value) for value in reads.get(node.name, ())],
            values_of.get(node.name, {}).values(),
            module,
            is_result=node.name in results,
        )
        for node in flow.nodes
    )


def _box(
    node: Instruction, reads: Sequence[str], values: Iterable[Flow], module: Module | None, *, is_result: bool
) -> Box:
    kind, operation = name_kind(node), _operation(node)
    emitter = custom_fusion_kind(node) if is_fusion(node) else None
    head = f"{kind} {emitter}" if emitter else kind if is_fusion(node) else operation
    opcodes = tuple(list_opcodes(module, node)) if module is not None and is_fusion(node) else ()
    lines: list[tuple[str, tuple[str, ...]]] = [(node.name, ())]
    if opcodes:
        lines.append((f"{head}: ", summarise_opcodes(opcodes)))
    elif head != node.name:
        lines.append((head, ()))
    if reads:
        lines.append(("reads ", tuple(reads)))
    tooltip_lines = [
        f"{node.name} = {node.shape.plain} {operation}",
        f"{head}: {', '.join(opcodes)}" if opcodes else "",
    ]
    tooltip_lines += [
        f"reads {', '.join(reads)}" if reads else "",
        *(f"makes {name_value(value)}" for value in values),
    ]
    return Box(
        kind,
        is_result,
        tuple(lines),
        tuple((name_value(value), format_bytes(value.shape.bytes)) for value in values),
        "\n".join(line for line in tooltip_lines if line),
    )


def summarise_opcodes(opcodes: Sequence[str]) -> tuple[str, ...]:
    """Return a fusion's opcodes, repeated ones with a count, without those of `_PLUMBING` unless it has no others."""
    # A fusion that only moves data consists of such opcodes alone and would otherwise have no summary.
    work = [opcode for opcode in opcodes if opcode not in _PLUMBING] or opcodes
    return tuple(opcode if count == 1 else f"{count} {opcode}" for opcode, count in Counter(work).items())


def name_value(value: Flow) -> str:
    """Return the label of an edge: the shape of its value and the bytes."""
    return f"{value.shape.plain} {format_bytes(value.shape.bytes)}"


def _input(source: Instruction, value: Flow) -> str:
    """Return the label of an input: a parameter's name and size, a short constant's value, or another one's size."""
    index = "".join(f"{{{number}}}" for number in value.index)
    if source.opcode == "parameter":
        name = source.op_name or source.name
        # A value that a loop carries has the op_name of the loop; only an argument has its name in Python.
        return f"{source.name if '/' in name else name}{index} {format_bytes(value.shape.bytes)}"
    # Constants of many elements may be printed without their values, so the name takes their place.
    literal = source.literal or source.name
    return literal if len(literal) <= len("-1.000000e+00") else f"constant {format_bytes(value.shape.bytes)}"


def _operation(node: Instruction) -> str:
    if node.opcode == "custom-call":
        # Calls of libraries and callbacks all have this opcode, and only the target tells them apart.
        return node.custom_call_target or node.opcode
    if node.opcode.endswith("-start"):
        return f"{node.wrapped or node.opcode.removesuffix('-start')}, asynchronous"
    return node.opcode


def name_kind(node: Instruction) -> str:
    """Return the kind of an instruction, one of `BOX_KINDS`."""
    if is_fusion(node):
        return node.fusion_kind if node.fusion_kind in BOX_KINDS else "other"
    return _CATEGORIES.get(categorise(node.wrapped or node.opcode), "other")


def fit_line(line: tuple[str, tuple[str, ...]], room: int) -> str:
    """Return a line cut to at most `room` characters; `+2` at its end means that two more items did not fit."""
    start, items = line
    for count in range(len(items), 0, -1):
        rest = f" +{len(items) - count}" if count < len(items) else ""
        text = f"{start}{', '.join(items[:count])}{rest}"
        if len(text) <= room:
            return text
    return shorten(start + ", ".join(items), room)
