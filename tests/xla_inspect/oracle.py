"""Comparison of a parsed module with the compiler's own proto of the same module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from xla_inspect.hlo import Instruction, Module, Shape

# HloModuleProto and its parts, whose classes exist at run time only.
Proto = Any


def compare(module: Module, proto: Proto) -> list[str]:
    """Return each difference between a parsed module and an `HloModuleProto` as a line."""
    return list(_Comparison(module, proto).differences())


class _Comparison:
    def __init__(self, module: Module, proto: Proto) -> None:
        self._module, self._proto = module, proto
        self._computations = {computation.id: computation for computation in proto.computations}
        self._instructions = {
            instruction.id: instruction
            for computation in proto.computations
            for instruction in computation.instructions
        }
        # Text leaves out the computation around an instruction whose asynchronous form it shortens.
        self._left_out = {
            self._computations[self._instruction(instruction).called_computation_ids[0]].name
            for instruction in module.walk()
            if instruction.wrapped and instruction.opcode == "async-start"
        }

    def _instruction(self, instruction: Instruction) -> Proto:
        return self._by_name[instruction.computation, instruction.name]

    @property
    def _by_name(self) -> dict[tuple[str, str], Proto]:
        if not hasattr(self, "_names"):
            self._names = {
                (computation.name, instruction.name): instruction
                for computation in self._proto.computations
                for instruction in computation.instructions
            }
        return self._names

    def differences(self) -> Iterator[str]:
        module, proto = self._module, self._proto
        yield from _unequal("module name", module.name, proto.name)
        yield from _unequal("entry", module.entry.name, proto.entry_computation_name)
        expected = {computation.name for computation in proto.computations} - self._left_out
        yield from _unequal("computations", {computation.name for computation in module.computations}, expected)
        yield from _unequal("is_scheduled", module.is_scheduled, bool(proto.schedule.sequences))
        for proto_computation in proto.computations:
            if proto_computation.name not in self._left_out:
                yield from self._computation(proto_computation)
        yield from self._frames()

    def _computation(self, proto: Proto) -> Iterator[str]:
        computation = self._module.computation(proto.name)
        operand_ids = {number for instruction in proto.instructions for number in instruction.operand_ids}
        instructions = [i for i in proto.instructions if i.id in operand_ids or i.name in computation.by_name]
        names = {self._name(instruction, computation.by_name) for instruction in instructions}
        yield from _unequal(f"{proto.name}: names", set(computation.by_name), names)
        yield from _unequal(f"{proto.name}: root", computation.root.name, self._instructions[proto.root_id].name)
        sequence = self._proto.schedule.sequences.get(proto.id)
        if sequence is not None and proto.id in self._proto.schedule.sequences:
            scheduled = [self._instructions[number].name for number in sequence.instruction_ids]
            order = [instruction.name for instruction in computation if instruction.name in scheduled]
            yield from _unequal(f"{proto.name}: order", order, [name for name in scheduled if name in names])
        for instruction in proto.instructions:
            if (name := self._name(instruction, computation.by_name)) in computation.by_name:
                yield from self._one(computation.by_name[name], instruction, f"{proto.name}/{name}: ")

    def _one(self, instruction: Instruction, proto: Proto, where: str) -> Iterator[str]:
        yield from _unequal(f"{where}opcode", instruction.opcode, proto.opcode)
        by_name = self._module.computation(instruction.computation).by_name
        operands = tuple(self._name(self._instructions[number], by_name) for number in proto.operand_ids)
        yield from _unequal(f"{where}operands", instruction.operands, operands)
        yield from _unequal(f"{where}shape", _facts(instruction.shape), _proto_facts(proto.shape))
        if instruction.name != proto.name:
            return  # text that picks an element where it is used says no more of it
        before = {self._instructions[number].name for number in proto.control_predecessor_ids}
        yield from _unequal(f"{where}control predecessors", set(instruction.control_predecessors), before)
        callees = instruction.called
        if instruction.opcode == "while":  # text prints the condition first, the proto keeps the body first
            callees = (*instruction.calls["body"], *instruction.calls["condition"])
        yield from _unequal(f"{where}called", callees, self._called(instruction, proto))
        yield from _unequal(f"{where}op_name", instruction.op_name or "", proto.metadata.op_name)
        yield from _unequal(f"{where}frame", instruction.stack_frame or 0, proto.metadata.stack_frame_id)
        scheduling_name = instruction.metadata.get("scheduling_name", "")
        yield from _unequal(f"{where}scheduling_name", scheduling_name, proto.metadata.scheduling_name)
        yield from _unequal(f"{where}target", instruction.custom_call_target or "", proto.custom_call_target)
        yield from _unequal(f"{where}config", _config(instruction.backend_config or ""), _config(proto.backend_config))
        if proto.opcode == "fusion":
            yield from _unequal(f"{where}kind", instruction.fusion_kind, proto.fusion_kind)
        if proto.opcode == "parameter":
            yield from _unequal(f"{where}number", instruction.parameter_number, proto.parameter_number)

    def _name(self, proto: Proto, by_name: Container[str]) -> str:
        """Return the name of an instruction; a selected tuple element gets its name from XLA's parser."""
        if proto.opcode != "get-tuple-element" or proto.name in by_name:
            return proto.name
        return f"{self._name(self._instructions[proto.operand_ids[0]], by_name)}_{proto.tuple_index}"

    def _called(self, instruction: Instruction, proto: Proto) -> tuple[str, ...]:
        numbers = proto.called_computation_ids
        if instruction.wrapped and numbers:
            wrapper = self._computations[numbers[0]]
            inner = self._instructions[wrapper.root_id]
            if inner.opcode != instruction.wrapped:
                return (f"a computation that wraps {inner.opcode}",)
            # Only the start repeats what the wrapped instruction calls.
            numbers = inner.called_computation_ids if proto.opcode == "async-start" else ()
        return tuple(self._computations[number].name for number in numbers)

    def _frames(self) -> Iterator[str]:
        index = self._proto.stack_frame_index
        for number, chain in self._module.frames().items():
            expected = []
            frame_number = number
            while frame_number:
                frame = index.stack_frames[frame_number - 1]
                place = index.file_locations[frame.file_location_id - 1]
                file, function = (
                    index.file_names[place.file_name_id - 1],
                    index.function_names[place.function_name_id - 1],
                )
                expected.append((file, function, place.line, place.column + 1, place.end_line, place.end_column + 1))
                frame_number = frame.parent_frame_id
            frames = [(f.file, f.function, f.line, f.column, f.end_line, f.end_column) for f in chain]
            yield from _unequal(f"frame {number}", frames, expected)
        yield from _unequal("frames", len(self._module.frames()), len(index.stack_frames))


def _unequal(what: str, actual: object, expected: object) -> Iterator[str]:
    if actual != expected:
        yield f"{what}: read {actual!r}, the proto has {expected!r}"


def _config(value: str | bytes) -> object:
    text = value.decode() if isinstance(value, bytes) else value
    try:
        return json.loads(text)
    except ValueError:
        return text


def _facts(shape: Shape) -> tuple[Any, ...]:
    """Return a shape as plain values for comparison."""
    if shape.is_tuple:
        return ("tuple", *map(_facts, shape.elements))
    layout = shape.layout
    order = layout.minor_to_major if layout else ()
    tiles = layout.tiles if layout else ()
    space, bits = (layout.memory_space, layout.element_bits) if layout else (0, 0)
    return (shape.dtype, shape.dimensions, shape.dynamic, order, tiles, space, bits)


def _proto_facts(proto: Proto) -> tuple[Any, ...]:
    kinds = proto.DESCRIPTOR.fields_by_name["element_type"].enum_type.values_by_number
    dtype = kinds[proto.element_type].name.lower()
    if dtype == "tuple":
        return ("tuple", *map(_proto_facts, proto.tuple_shapes))
    sizes, layout = tuple(proto.dimensions), proto.layout
    combined = -(1 << 63)
    return (
        {"opaque_type": "opaque"}.get(dtype, dtype),
        tuple(-1 if size < 0 else size for size in sizes),
        tuple(proto.is_dynamic_dimension),
        tuple(layout.minor_to_major),
        tuple(tuple(-1 if size == combined else size for size in tile.dimensions) for tile in layout.tiles),
        layout.memory_space,
        layout.element_size_in_bits,
    )
