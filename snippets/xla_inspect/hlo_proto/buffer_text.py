"""A writer of a memory plan's text, `buffer-assignment.txt`, as XLA dumps it (xla/service/buffer_assignment.cc)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.message import look_up, refuse
from xla_inspect.hlo_proto.shape_text import write_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo_proto.message import Message
    from xla_inspect.hlo_proto.module_graph import ModuleGraph

_PHI = frozenset({"while", "conditional"})


@dataclass(frozen=True)
class _Value:
    """A value: its number, producer, tuple index in the producer's result, memory color, and if it merges values."""

    number: int
    instruction: Message
    index: Sequence[int]
    color: int
    is_phi: bool


def write_buffers(plan: Message, graph: ModuleGraph) -> str:
    """Return the text of a `BufferAssignmentProto` in the form of `buffer-assignment.txt`.

    Args:
        plan: The message.
        graph: The graph of its module.

    Raises:
        MalformedProtoError: The plan refers to something that the module does not have.
    """
    values = _read_values(plan, graph)
    result = _Result(plan, values, graph)
    lines = ["BufferAssignment:"]
    for allocation in plan.buffer_allocations:
        # XLA prints the values of an allocation sorted by number, whatever their order in the message.
        rows = sorted((row.logical_buffer_id, row.size, row.offset) for row in allocation.assigned)
        assigned = [look_up(values, number, "an allocation holds buffer") for number, _, _ in rows]
        shape = result.text if result.is_in(assigned, is_live_out=bool(allocation.maybe_live_out)) else ""
        lines.append(", ".join(_write_allocation(allocation, graph, shape)) + ":")
        lines += [_write_value(value, *row[1:]) for value, row in zip(assigned, rows, strict=True)]
    return "\n".join([*lines, ""])


def _read_values(plan: Message, graph: ModuleGraph) -> dict[int, _Value]:
    numbers, names, loops = {}, {}, set()
    for computation in graph.computations.values():
        for number, instruction in computation.instructions.items():
            numbers[number] = names[instruction.name] = instruction, computation.number
            if instruction.opcode == "while":
                loops.update(instruction.called_computation_ids)
    values = {}
    for buffer in plan.logical_buffers:
        place = buffer.defined_at
        # Older compilers wrote the name of the instruction instead of its id.
        instruction, owner = (
            numbers.get(place.instruction_id)
            or names.get(place.instruction_name)
            or refuse(f"buffer {buffer.id} is of an instruction that the module does not have")
        )
        # Several values merge in the result of a loop or branch, and in the parameters of a loop's computations.
        is_phi = instruction.opcode in _PHI or (instruction.opcode == "parameter" and owner in loops)
        values[buffer.id] = _Value(buffer.id, instruction, place.shape_index, buffer.color, is_phi)
    return values


class _Result:
    """The whole result of the program: its shape without layouts, and its values."""

    def __init__(self, plan: Message, values: dict[int, _Value], graph: ModuleGraph) -> None:
        root = graph.entry.instructions[graph.entry.root]
        self.text = write_shape(root.shape, layouts=False)
        self._is_array = root.shape.element_type != "TUPLE"
        self._numbers = {number for number, value in values.items() if value.instruction is root and not value.index}
        for alias in plan.buffer_aliases:
            place = alias.location
            is_root = place.instruction_id == graph.entry.root or place.instruction_name == root.name
            if is_root and not place.shape_index:
                self._numbers.add(alias.source_buffer_id)

    def is_in(self, values: Sequence[_Value], *, is_live_out: bool) -> bool:
        """Return whether the allocation that holds some values contains the program's result.

        The table of aliases does not contain instructions that only pass on a value, such as a bitcast or a call. Then
        an allocation that outlives the program (`is_live_out`) counts if the result is an array or has the shape of a
        value.
        """
        if any(value.number in self._numbers for value in values):
            return True
        return is_live_out and (self._is_array or any(self._has_shape(value) for value in values))

    def _has_shape(self, value: _Value) -> bool:
        return not value.index and write_shape(value.instruction.shape, layouts=False) == self.text


def _write_allocation(allocation: Message, graph: ModuleGraph, output: str) -> Iterator[str]:
    yield f"allocation {allocation.index}: size {allocation.size}"
    if allocation.color:
        yield f"color {allocation.color}"
    yield "page 0"
    if allocation.is_entry_computation_parameter:
        number = allocation.parameter_number
        parameters = {parameter.parameter_number: parameter for parameter in reversed(graph.entry.parameters)}
        shape = look_up(parameters, number, "an allocation holds parameter").shape
        index = list_numbers(allocation.parameter_shape_index)
        yield from (f"parameter {number}", f"shape |{write_shape(shape, layouts=False)}| at ShapeIndex {index}")
    if output:
        yield f"output shape is |{output}|"
    flags = {
        "constant": allocation.is_constant,
        "thread-local": allocation.is_thread_local,
        "maybe-live-out": allocation.maybe_live_out,
    }
    yield from (flag for flag, is_set in flags.items() if is_set)
    # The message has no flag for temporaries, which are the allocations of no other kind.
    if not any([*flags.values(), allocation.is_entry_computation_parameter]):
        yield "preallocated-temp"


def _write_value(value: _Value, size: int, offset: int) -> str:
    name, shape = value.instruction.name, value.instruction.shape
    index = list_numbers(value.index) if shape.element_type == "TUPLE" or value.index else ""
    # The shape of a tuple element is found by descending along the tuple index.
    for number in value.index:
        if not 0 <= number < len(shape.tuple_shapes):
            refuse(f"buffer {value.number} is of an element that {name} does not have")
        shape = shape.tuple_shapes[number]
    text = f"{value.number} {name}{index}{' (phi)' if value.is_phi else ''} @{value.color}"
    return f" value: <{text}> (size={size},offset={offset}): {write_shape(shape)}"
