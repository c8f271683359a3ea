"""One line of HLO text from an instruction's fields (`HloInstruction::PrintWithCanonicalNameMap`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import quote
from xla_inspect.hlo_proto.attribute_text import write_own
from xla_inspect.hlo_proto.literal_text import write_constant
from xla_inspect.hlo_proto.metadata_text import find_payload, write_frontend, write_metadata, write_origin
from xla_inspect.hlo_proto.quoted_text import write_config
from xla_inspect.hlo_proto.schema import MalformedProtoError, decode, name_value
from xla_inspect.hlo_proto.shape_text import name_type, number_items, write_shape
from xla_inspect.hlo_proto.sharding_text import write_sharding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo_proto.module_graph import Body, ModuleGraph, Node

_FEW = 5
_LONGEST = 1 << 26
_APPLYING = frozenset(
    {
        *("call", "map", "reduce", "reduce-window", "scan", "scatter", "sort"),
        *("all-reduce", "all-reduce-start", "collective-reduce", "reduce-scatter"),
    }
)
_ABOUT_OPERANDS = frozenset({"compare", "collective-permute", "collective-permute-start"})


class InstructionText:
    """Writes the instructions of a module.

    Args:
        graph: The module's computations.
        payloads: The configurations that instructions refer to by number.
    """

    def __init__(self, graph: ModuleGraph, payloads: Sequence[bytes]) -> None:
        """Write nothing yet."""
        self._graph, self._payloads = graph, payloads
        self._shapes: dict[bytes, str] = {}
        self._metadata: dict[bytes, str] = {}
        self._configs: dict[bytes, str] = {}

    def write(self, node: Node, body: Body) -> str:
        """Return the line of an instruction, without indentation and without `ROOT`.

        Raises:
            MalformedProtoError: It refers to what is not there, or a field of it is malformed.
        """
        fields = node.fields
        shape, operands = self.shape(fields.get("shape", b"")), self._write_operands(node, body)
        head = f"%{node.name} = {shape} {node.opcode}({operands})"
        attributes = [*self._write_attributes(node, body)]
        if "original_value" in fields and (text := write_origin(fields["original_value"])):
            attributes.append(f"origin={{{text}}}")
        if (data := fields.get("metadata")) and (text := self._write_metadata(data)):
            attributes.append(text)
        if config := self._find_config(fields):
            if config not in self._configs:
                self._configs[config] = write_config(config)
            attributes.append(f"backend_config={self._configs[config]}")
        return f"{head}, {', '.join(attributes)}" if attributes else head

    def shape(self, data: bytes) -> str:
        """Return the text of a shape; most occur often."""
        text = self._shapes.get(data)
        if text is None:
            text = self._shapes[data] = write_shape(data)
        return text

    def _write_metadata(self, data: bytes) -> str:
        text = self._metadata.get(data)
        if text is None:
            inner = write_metadata(data, self._payloads)
            text = self._metadata[data] = f"metadata={{{inner}}}" if inner else ""
        return text

    def _find_config(self, fields: dict[str, Any]) -> bytes:
        config: bytes = fields.get("backend_config", b"")
        if not config and "backend_config_payload" in fields:
            config = find_payload(fields["backend_config_payload"], self._payloads)
        return config

    def _write_operands(self, node: Node, body: Body) -> str:
        fields = node.fields
        if node.opcode == "constant":
            return write_constant(fields.get("literal"), fields.get("shape", b""))
        if node.opcode == "parameter":
            return str(fields.get("parameter_number", 0))
        numbers = fields.get("operand_ids", ())
        if len(numbers) <= _FEW:
            return ", ".join([f"%{self._find(number, body).name}" for number in numbers])
        return number_items(self._list_names(numbers, body))

    def _list_names(self, numbers: Sequence[int], body: Body) -> list[str]:
        """Return the names of instructions, unless they take more room than any real list of them."""
        found = [self._find(number, body) for number in numbers]
        if sum(len(each.name) for each in found) > _LONGEST:
            message = f"it names {len(found):,} instructions"
            raise MalformedProtoError(message)
        return [f"%{each.name}" for each in found]

    @staticmethod
    def _find(number: int, body: Body) -> Node:
        found = body.nodes.get(number)
        if found is None:
            message = f"it refers to instruction {number}, which is not there"
            raise MalformedProtoError(message)
        return found

    def _write_attributes(self, node: Node, body: Body) -> Iterator[str]:
        fields = node.fields
        if thread := fields.get("async_execution_thread", ""):
            yield f"async_execution_thread={quote(thread)}"
        yield from write_own(node.opcode, self._widen(node, body) if node.opcode in _ABOUT_OPERANDS else fields)
        if called := fields.get("called_computation_ids"):
            yield from self._write_called(node, body, called)
        if "sharding" in fields:
            yield f"sharding={write_sharding(fields['sharding'])}"
        if text := write_frontend(fields.get("frontend_attributes", b"")):
            yield f"frontend_attributes={text}"
        if before := fields.get("control_predecessor_ids"):
            yield f"control-predecessors={{{', '.join(self._list_names(before, body))}}}"
        if data := fields.get("statistics_viz"):
            yield from _write_statistics(data)
        if "result_accuracy" in fields:
            yield from _write_accuracy(fields["result_accuracy"])

    def _widen(self, node: Node, body: Body) -> dict[str, Any]:
        """Return the fields of an instruction, and what its text says of its first operand."""
        shape = self._find_first(node, body)
        while parts := shape.get("tuple_shapes"):
            shape = decode("ShapeProto", parts[0])
        floats = not name_type(shape.get("element_type", 0)).startswith(("s", "u", "pred"))
        return {**node.fields, "compares floats": floats, "rank": len(shape.get("dimensions", ()))}

    def _find_first(self, node: Node, body: Body) -> dict[str, Any]:
        """Return the fields of the shape of an instruction's first operand; none where it has none."""
        operands = node.fields.get("operand_ids", ())
        return decode("ShapeProto", self._find(operands[0], body).fields.get("shape", b"")) if operands else {}

    def _write_called(self, node: Node, body: Body, called: Sequence[int]) -> Iterator[str]:
        names = [f"%{self._graph.body(number).name}" for number in called]
        opcode = node.opcode
        if opcode == "while" and len(names) > 1:
            yield from (f"condition={names[1]}", f"body={names[0]}")
        elif opcode == "select-and-scatter" and len(names) > 1:
            yield from (f"select={names[0]}", f"scatter={names[1]}")
        elif opcode == "conditional":
            kind = name_type(self._find_first(node, body).get("element_type", 0))
            if kind == "pred" and len(names) > 1:
                yield from (f"true_computation={names[0]}", f"false_computation={names[1]}")
            else:
                yield f"branch_computations={{{', '.join(names)}}}"
        elif opcode in _APPLYING:
            yield f"to_apply={names[0]}"
            if opcode == "call" and node.fields.get("is_composite"):
                yield "is_composite=true"
        elif opcode == "custom-call":
            yield f"called_computations={{{', '.join(names)}}}"
        elif opcode == "async-start":
            yield f"calls={names[0]}"
        elif opcode not in {"async-update", "async-done"}:
            yield f"calls={', '.join(names)}"


def _write_statistics(data: bytes) -> Iterator[str]:
    statistics = decode("StatisticsViz", data)
    if parts := [decode("Statistic", part) for part in statistics.get("statistics", ())]:
        inner = ",".join(f"{part.get('stat_name', '')}={part.get('stat_val', 0.0):.6g}" for part in parts)
        yield f"statistics={{visualizing_index={statistics.get('stat_index_to_visualize', 0)},{inner}}}"


def _write_accuracy(data: bytes) -> Iterator[str]:
    accuracy = decode("ResultAccuracy", data)
    if mode := accuracy.get("mode", 0):
        yield f"result_accuracy={{mode={name_value('ResultAccuracy.Mode', mode).lower()}}}"
    elif "tolerance" in accuracy:
        bounds = decode("ResultAccuracy.Tolerance", accuracy["tolerance"])
        numbers = [f"{name}={bounds.get(name, 0):.6g}" for name in ("atol", "rtol")]
        yield f"result_accuracy={{tolerance={{{','.join([*numbers, f'ulps={bounds.get("ulps", 0)}'])}}}}}"
