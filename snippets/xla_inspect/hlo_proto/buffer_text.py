"""A module's memory plan as XLA dumps it, `buffer-assignment.txt` (xla/service/buffer_assignment.cc)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.schema import DEEPEST, MalformedProtoError, decode
from xla_inspect.hlo_proto.shape_text import name_type, write_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo_proto.module_graph import Body, ModuleGraph, Node

_PHI = frozenset({"while", "conditional"})


@dataclass(frozen=True)
class _Value:
    """A value: its number, the instruction that makes it, the element of its result, and the color of its memory."""

    number: int
    node: Node
    index: Sequence[int]
    color: int
    is_phi: bool


def write_buffers(data: bytes, graph: ModuleGraph) -> str:
    """Return the text of a `BufferAssignmentProto`.

    Args:
        data: Its bytes.
        graph: The module that it is of.

    Raises:
        MalformedProtoError: It names what the module does not have.
    """
    plan = decode("BufferAssignmentProto", data)
    values = _read_values(plan, graph)
    result = _Result(plan, values, graph)
    lines = ["BufferAssignment:"]
    for part in plan.get("buffer_allocations", ()):
        allocation = decode("BufferAllocationProto", part)
        assigned = [decode("BufferAllocationProto.Assigned", row) for row in allocation.get("assigned", ())]
        rows = sorted((row.get("logical_buffer_id", 0), row.get("size", 0), row.get("offset", 0)) for row in assigned)
        held = [_find(values, number) for number, _, _ in rows]
        shape = result.text if result.is_in(held, is_live_out=bool(allocation.get("maybe_live_out"))) else ""
        lines.append(", ".join(_write_allocation(allocation, graph, shape)) + ":")
        lines += [_write_value(value, size, offset) for value, (_, size, offset) in zip(held, rows, strict=True)]
    return "\n".join([*lines, ""])


def _read_values(plan: dict[str, Any], graph: ModuleGraph) -> dict[int, _Value]:
    nodes = {number: (node, body) for body in graph.bodies.values() for number, node in body.nodes.items()}
    names = {node.name: (node, body) for node, body in nodes.values()}
    loops = {
        number
        for node, _ in nodes.values()
        if node.opcode == "while"
        for number in node.fields.get("called_computation_ids", ())
    }
    values = {}
    for part in plan.get("logical_buffers", ()):
        buffer = decode("LogicalBufferProto", part)
        place = decode("LogicalBufferProto.Location", buffer.get("defined_at", b""))
        # Files of older compilers name the instruction.
        found = nodes.get(place.get("instruction_id", 0)) or names.get(place.get("instruction_name", ""))
        if found is None:
            message = f"buffer {buffer.get('id', 0)} is of an instruction that the module does not have"
            raise MalformedProtoError(message)
        node, body = found
        is_phi = node.opcode in _PHI or (node.opcode == "parameter" and body.number in loops)
        values[buffer.get("id", 0)] = _Value(
            buffer.get("id", 0), node, place.get("shape_index", ()), buffer.get("color", 0), is_phi
        )
    return values


def _find(values: dict[int, _Value], number: int) -> _Value:
    if number not in values:
        message = f"an allocation holds buffer {number}, which is not there"
        raise MalformedProtoError(message)
    return values[number]


class _Result:
    """The program's result as a whole: its shape without layouts, and the values that it is."""

    def __init__(self, plan: dict[str, Any], values: dict[int, _Value], graph: ModuleGraph) -> None:
        entry = graph.bodies[graph.entry]
        root = entry.nodes[entry.root]
        shape = root.fields.get("shape", b"")
        self.text = write_shape(shape, layouts=False)
        self._is_array = not _is_tuple(decode("ShapeProto", shape))
        self._numbers = {number for number, value in values.items() if value.node is root and not value.index}
        for part in plan.get("buffer_aliases", ()):
            alias = decode("BufferAssignmentProto.BufferAlias", part)
            place = decode("LogicalBufferProto.Location", alias.get("location", b""))
            is_root = place.get("instruction_id", 0) == entry.root or place.get("instruction_name") == root.name
            if is_root and not place.get("shape_index"):
                self._numbers.add(alias.get("source_buffer_id", 0))

    def is_in(self, held: Sequence[_Value], *, is_live_out: bool) -> bool:
        """Return whether an allocation that holds some values holds the result.

        What only passes a value on, such as a bitcast or a call, is in no table of aliases: then the allocation that
        outlives the program has it, where it is no tuple or a value in it is one of that shape.
        """
        if any(value.number in self._numbers for value in held):
            return True
        return is_live_out and (self._is_array or any(self._has_shape(value) for value in held))

    def _has_shape(self, value: _Value) -> bool:
        return not value.index and write_shape(value.node.fields.get("shape", b""), layouts=False) == self.text


def _is_tuple(shape: dict[str, Any]) -> bool:
    return name_type(shape.get("element_type", 0)) == "tuple"


def _write_allocation(allocation: dict[str, Any], graph: ModuleGraph, output: str) -> Iterator[str]:
    entry = graph.bodies[graph.entry]
    yield f"allocation {allocation.get('index', 0)}: size {allocation.get('size', 0)}"
    if color := allocation.get("color", 0):
        yield f"color {color}"
    yield "page 0"
    is_parameter = allocation.get("is_entry_computation_parameter")
    if is_parameter:
        number = allocation.get("parameter_number", 0)
        yield f"parameter {number}"
        yield f"shape |{_write_parameter(entry, number)}| at ShapeIndex {_list(allocation, 'parameter_shape_index')}"
    if output:
        yield f"output shape is |{output}|"
    flags = [("is_constant", "constant"), ("is_thread_local", "thread-local"), ("maybe_live_out", "maybe-live-out")]
    said = [text for field, text in flags if allocation.get(field)]
    yield from said
    if not said and not is_parameter:
        yield "preallocated-temp"


def _write_parameter(entry: Body, number: int) -> str:
    for node in entry.parameters:
        if node.fields.get("parameter_number", 0) == number:
            return write_shape(node.fields.get("shape", b""), layouts=False)
    message = f"an allocation holds parameter {number}, which the program does not have"
    raise MalformedProtoError(message)


def _list(fields: dict[str, Any], name: str) -> str:
    return list_numbers(fields.get(name, ()))


def _write_value(value: _Value, size: int, offset: int) -> str:
    shape: bytes = value.node.fields.get("shape", b"")
    fields = decode("ShapeProto", shape)
    index = list_numbers(value.index) if _is_tuple(fields) or value.index else ""
    for number in value.index[:DEEPEST]:
        parts = fields.get("tuple_shapes", ())
        if not 0 <= number < len(parts):
            message = f"buffer {value.number} is of an element that {value.node.name} does not have"
            raise MalformedProtoError(message)
        shape = parts[number]
        fields = decode("ShapeProto", shape)
    phi = " (phi)" if value.is_phi else ""
    text = write_shape(shape)
    return (
        f" value: <{value.number} {value.node.name}{index}{phi} @{value.color}> (size={size},offset={offset}): {text}"
    )
