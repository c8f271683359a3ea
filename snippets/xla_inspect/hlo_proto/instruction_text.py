"""The line of HLO text for an instruction's fields (`HloInstruction::PrintWithCanonicalNameMap`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.field_text import write_fields
from xla_inspect.hlo_proto.literal_text import write_constant
from xla_inspect.hlo_proto.message import MESSAGES, refuse
from xla_inspect.hlo_proto.metadata_text import read_payload, write_metadata
from xla_inspect.hlo_proto.quoted_text import write_config
from xla_inspect.hlo_proto.shape_text import name_type, number_items, write_shape
from xla_inspect.hlo_proto.sharding_text import write_sharding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo_proto.message import Message
    from xla_inspect.hlo_proto.module_graph import Computation, ModuleGraph

_FEW = 5
_LONGEST = 1 << 26
_DEPENDENT = frozenset({"compare", "collective-permute", "collective-permute-start"})
_RARE = ("_statistics_viz", "_result_accuracy")
# For each opcode, the attributes for called computations, with their positions in `called_computation_ids`.
_APPLIED = {"to_apply": 0}
_CALLED = {
    "while": {"condition": 1, "body": 0},
    "select-and-scatter": {"select": 0, "scatter": 1},
    "conditional": {"true_computation": 0, "false_computation": 1},
    **dict.fromkeys(("call", "map", "reduce", "reduce-window", "scan", "scatter", "sort"), _APPLIED),
    **dict.fromkeys(("all-reduce", "all-reduce-start", "collective-reduce", "reduce-scatter"), _APPLIED),
    "async-start": {"calls": 0},
    "async-update": {},
    "async-done": {},
}


class InstructionText:
    """Writer of a module's instructions as lines of HLO text.

    Args:
        graph: The module's computations.
        payloads: The backend configs that instructions refer to by number.
    """

    def __init__(self, graph: ModuleGraph, payloads: Sequence[bytes]) -> None:
        """Start with empty caches."""
        self._graph, self._payloads = graph, payloads
        # Most shapes, metadata and configurations occur many times, so their texts are cached.
        self._shapes: dict[bytes, str] = {}
        self._metadata: dict[bytes, str] = {}
        self._configs: dict[bytes, str] = {}

    def write(self, instruction: Message, computation: Computation) -> str:
        """Return the line of an instruction, without indentation and without `ROOT`.

        Raises:
            MalformedProtoError: The instruction has a malformed field, or refers to something that does not exist.
        """
        shape = vars(instruction).get("_shape", b"")
        if shape not in self._shapes:
            self._shapes[shape] = write_shape(instruction.shape)
        operands = self._write_operands(instruction, computation)
        head = f"%{instruction.name} = {self._shapes[shape]} {instruction.opcode}({operands})"
        return ", ".join([head, *filter(None, self._write_attributes(instruction, computation))])

    def _write_operands(self, instruction: Message, computation: Computation) -> str:
        if instruction.opcode == "constant":
            return write_constant(instruction)
        if instruction.opcode == "parameter":
            return str(instruction.parameter_number)
        numbers = instruction.operand_ids
        # XLA numbers the operands only from the sixth one on, so most lists need no numbers.
        if len(numbers) <= _FEW:
            return ", ".join([f"%{computation.find(number).name}" for number in numbers])
        return number_items(_list_names(numbers, computation))

    def _write_attributes(self, instruction: Message, computation: Computation) -> Iterator[str]:
        fields = vars(instruction)
        if "async_execution_thread" in fields:
            yield from write_fields(instruction, "threaded")
        yield from write_fields(instruction, instruction.opcode)
        if instruction.opcode in _DEPENDENT:
            yield from _write_operand_rules(instruction, _find_operand(instruction, computation))
        if "called_computation_ids" in fields:
            yield from self._write_called(instruction, computation)
        if "_sharding" in fields:
            yield f"sharding={write_sharding(instruction.sharding)}"
        if fields.get("_frontend_attributes"):
            yield from write_fields(instruction, "attributed")
        if "control_predecessor_ids" in fields:
            names = _list_names(instruction.control_predecessor_ids, computation)
            yield f"control-predecessors={{{', '.join(names)}}}"
        if "_original_value" in fields or any(map(fields.get, _RARE)):
            yield from write_fields(instruction, "constructed")
        if data := fields.get("_metadata"):
            yield self._metadata.get(data) or self._write_metadata(data, instruction)
        if "backend_config" in fields or "_backend_config_payload" in fields:
            yield self._write_config(instruction)

    def _write_metadata(self, data: bytes, instruction: Message) -> str:
        if "metadata_payload" in instruction.metadata:
            # This call also stores the payload in the message, from which its text is written.
            read_payload(instruction.metadata.metadata_payload, self._payloads)
        text = write_metadata(instruction.metadata)
        self._metadata[data] = f"metadata={text}" if text else ""
        return self._metadata[data]

    def _write_config(self, instruction: Message) -> str:
        config = instruction.backend_config or read_payload(instruction.backend_config_payload, self._payloads)
        if config not in self._configs:
            self._configs[config] = f"backend_config={write_config(config)}" if config else ""
        return self._configs[config]

    def _write_called(self, instruction: Message, computation: Computation) -> Iterator[str]:
        names = [f"%{self._graph.find(number).name}" for number in instruction.called_computation_ids]
        opcode, keys = instruction.opcode, _CALLED.get(instruction.opcode)
        # A conditional on an index prints a list of branches; one on a predicate prints two separate attributes.
        if opcode == "conditional" and _find_operand(instruction, computation).element_type != "PRED":
            keys = None
        if keys is not None and len(names) >= len(keys):
            yield from (f"{key}={names[place]}" for key, place in keys.items())
        elif opcode in {"conditional", "custom-call"}:
            key = "branch_computations" if opcode == "conditional" else "called_computations"
            yield f"{key}={{{', '.join(names)}}}"
        else:
            yield f"calls={', '.join(names)}"
        if opcode == "call" and instruction.is_composite:
            yield "is_composite=true"


def _list_names(numbers: Sequence[int], computation: Computation) -> list[str]:
    """Return the names of instructions by id, each with `%`; raise an error if they are longer than any real list."""
    names = [computation.find(number).name for number in numbers]
    if sum(map(len, names)) > _LONGEST:
        refuse(f"it names {len(names):,} instructions")
    return [f"%{name}" for name in names]


def _find_operand(instruction: Message, computation: Computation) -> Message:
    """Return the shape of the first operand, or of the first array in a tuple operand; empty without operands."""
    operands = instruction.operand_ids
    shape: Message = computation.find(operands[0]).shape if operands else MESSAGES["ShapeProto"]()
    while shape.tuple_shapes:
        shape = shape.tuple_shapes[0]
    return shape


def _write_operand_rules(instruction: Message, operand: Message) -> Iterator[str]:
    """Yield the attribute that depends on the first operand's shape: a compare's total order or a permute's slices."""
    # A total order also places values that are not comparable, such as NaN. Types without such values always have a
    # total order, so XLA prints it only for the others.
    is_total = instruction.comparison_order == "TOTAL" or instruction.comparison_type == "FLOATTOTALORDER"
    if instruction.opcode == "compare":
        if is_total and not name_type(operand.element_type).startswith(("s", "u", "pred")):
            yield "order=TOTAL"
    elif sizes := instruction.dynamic_slice_sizes:
        # An operand without dimensions does not give the rank, so all sizes form one group.
        rank = len(operand.dimensions) or len(sizes)
        groups = (sizes[at : at + rank] for at in range(0, len(sizes), rank))
        yield f"slice_sizes={{{','.join(map(list_numbers, groups))}}}"
