"""A module's text, from its first line to its last computation (xla/hlo/ir/hlo_module.cc, hlo_computation.cc)."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import escape, quote
from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.instruction_text import InstructionText
from xla_inspect.hlo_proto.metadata_text import write_array, write_debugging, write_frontend
from xla_inspect.hlo_proto.module_graph import Body, ModuleGraph, check_name
from xla_inspect.hlo_proto.schema import DEEPEST, MalformedProtoError, decode, name_value
from xla_inspect.hlo_proto.shape_text import number_items, write_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Real modules take as text at most three times the room of the file.
_LEAST, _TIMES = 1 << 23, 20


class ModuleText:
    """Writes a module.

    Args:
        data: The `HloModuleProto`.
        depth: In how many other modules it lies.
    """

    def __init__(self, data: bytes, *, depth: int = 0) -> None:
        """Decode the module and its instructions.

        Raises:
            MalformedProtoError: They are no module.
        """
        self.fields = decode("HloModuleProto", data)
        self.name = check_name(self.fields.get("name", ""), "the module")
        entry, name = self.fields.get("entry_computation_id", 0), self.fields.get("entry_computation_name", "")
        self.graph = ModuleGraph(self.fields.get("computations", ()), entry, name)
        self._depth = depth
        self._room = _LEAST + _TIMES * len(data)
        self._instructions = InstructionText(self.graph, self.fields.get("payloads", ()))

    def write(self) -> str:
        """Return the text, as XLA prints it with its tables of stack frames.

        Raises:
            MalformedProtoError: Something in it is malformed, or refers to what is not there.
        """
        schedule = self._read_schedule()
        head = ", ".join([f"HloModule {self.name}", *self._write_head(scheduled=schedule is not None)])
        lines = [head.replace(", \n", ",\n")]
        if frames := self.fields.get("stack_frame_index"):
            lines += _write_frames(decode("StackFrameIndexProto", frames))
        lines.append("")
        for body in self.graph.order():
            lines += self._write_body(body, (schedule or {}).get(body.number))
        text = "\n".join([*lines, ""])
        return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _read_schedule(self) -> dict[int, Sequence[int]] | None:
        if "schedule" not in self.fields:
            return None
        schedule = {}
        for part in decode("HloScheduleProto", self.fields["schedule"]).get("sequences", ()):
            entry = decode("HloScheduleProto.SequencesEntry", part)
            sequence = decode("HloScheduleProto.InstructionSequence", entry.get("value", b""))
            schedule[entry.get("key", 0)] = sequence.get("instruction_ids", ())
        return schedule

    def _write_head(self, *, scheduled: bool) -> Iterator[str]:
        if scheduled:
            yield "is_scheduled=true"
        if aliases := [*self._write_aliases()]:
            yield f"input_output_alias={{ {', '.join(aliases)} }}"
        if donors := [*self._write_donors()]:
            yield f"buffer_donor={{ {', '.join(donors)} }}"
        yield from self._write_settings()
        if (data := self.fields.get("frontend_attributes")) and (text := write_frontend(data)):
            yield f"frontend_attributes={text}"
        if data := self.fields.get("original_value_recovery_table"):
            yield f"origin_recovery_table={{\n{''.join(self._write_recoveries(data))}}}\n"
        if parts := self.fields.get("debug_attributes"):
            entries = ",\n".join(f"  {write_debugging(part)}" for part in parts)
            yield f"\ndebug_attributes={{\n{entries}\n}}"

    def _write_settings(self) -> Iterator[str]:
        """Yield what a proto keeps of the settings that the module is compiled with."""
        if "host_program_shape" in self.fields:
            shape = decode("ProgramShapeProto", self.fields["host_program_shape"])
            parameters = number_items(map(write_shape, shape.get("parameters", ())))
            yield f"entry_computation_layout={{({parameters})->{write_shape(shape.get('result', b''))}}}"
        if "device_assignment" in self.fields:
            devices = decode("DeviceAssignmentProto", self.fields["device_assignment"])
            for field, name in (("replica_count", "replica_count"), ("computation_count", "num_partitions")):
                if devices.get(field, 1) > 1:
                    yield f"{name}={devices[field]}"

    def _write_recoveries(self, data: bytes) -> Iterator[str]:
        """Yield how to compute arrays of the program as given from those that there are now."""
        if self._depth >= DEEPEST:
            message = f"modules nest deeper than {DEEPEST} levels"
            raise MalformedProtoError(message)
        for part in decode("OriginalValueRecoveryTableProto", data).get("entries", ()):
            entry = decode("OriginalValueRecoveryTableProto.Entry", part)
            old, new = (write_array(entry.get(f"{age}_original_array", b"")) for age in ("old", "new"))
            yield f"  {{{old}}} : {{{new}}}"
            if "recovery_module" in entry:
                inner = ModuleText(entry["recovery_module"], depth=self._depth + 1)
                text = "\n".join(map(escape, inner.write().split("\n")))
                self._take_room(text)
                yield f',\n  "\n{indent(text, "    ")}\n  "'
            yield "\n"

    def _write_aliases(self) -> Iterator[str]:
        table = decode("HloInputOutputAliasProto", self.fields.get("input_output_alias", b""))
        entries = [decode("HloInputOutputAliasProto.AliasEntryProto", part) for part in table.get("entries", ())]
        for entry in sorted(entries, key=lambda entry: entry.get("output_shape_index", [])):
            parameter = entry.get("parameter_number", 0)
            kind = name_value("Kind", entry.get("kind", 0) or 1).lower().replace("_", "-")
            inner = list_numbers(entry.get("parameter_shape_index", ()))
            yield f"{list_numbers(entry.get('output_shape_index', ()))}: ({parameter}, {inner}, {kind})"

    def _write_donors(self) -> Iterator[str]:
        table = decode("HloBufferDonorProto", self.fields.get("buffer_donor", b""))
        entries = [decode("HloBufferDonorProto.BufferDonorEntryProto", part) for part in table.get("entries", ())]
        rows = [(entry.get("parameter_number", 0), entry.get("parameter_shape_index", [])) for entry in entries]
        yield from (f"({number}, {list_numbers(index)})" for number, index in sorted(rows))

    def _write_body(self, body: Body, sequence: Sequence[int] | None) -> list[str]:
        entry = "ENTRY " if body.number == self.graph.entry else ""
        given = ", ".join(
            f"{node.name}: {write_shape(node.fields.get('shape', b''), layouts=False)}" for node in body.parameters
        )
        result = write_shape(body.nodes[body.root].fields.get("shape", b""), layouts=False)
        lines = [f"{entry}%{body.name} ({given}) -> {result} {{"]
        write, root = self._instructions.write, body.root
        for number in sequence or body.nodes:
            node = body.nodes.get(number)
            if node is None:
                message = f"the schedule of computation {body.name} names instruction {number}, which is not there"
                raise MalformedProtoError(message)
            try:
                line = write(node, body)
            except MalformedProtoError as error:
                message = f"instruction {node.name} of computation {body.name}: {error}"
                raise MalformedProtoError(message) from error
            self._take_room(line)
            lines.append(f"  {'ROOT ' if number == root else ''}{line}")
        thread = f", execution_thread={quote(body.thread)}" if body.thread not in {"", "main"} else ""
        return [*lines, f"}}{thread}", ""]

    def _take_room(self, text: str) -> None:
        """Note what was written.

        Raises:
            MalformedProtoError: It is more than any real module of this size takes.
        """
        self._room -= len(text)
        if self._room < 0:
            message = f"its text would take more than {_LEAST >> 20} MiB and {_TIMES} times the room of the file"
            raise MalformedProtoError(message)


def _write_frames(index: dict[str, Any]) -> Iterator[str]:
    for title, field in (("FileNames", "file_names"), ("FunctionNames", "function_names")):
        yield from ("", title)
        yield from (f'{number} "{escape(name)}"' for number, name in enumerate(index.get(field, ()), 1))
    yield from ("", "FileLocations")
    for number, part in enumerate(index.get("file_locations", ()), 1):
        place = decode("StackFrameIndexProto.FileLocation", part)
        names = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")
        yield f"{number} {{{' '.join(f'{name}={place.get(name, 0)}' for name in names)}}}"
    yield from ("", "StackFrames")
    for number, part in enumerate(index.get("stack_frames", ()), 1):
        frame = decode("StackFrameIndexProto.StackFrame", part)
        # Text numbers a parent one higher than it is.
        parent = frame.get("parent_frame_id", 0) + 1
        yield f"{number} {{file_location_id={frame.get('file_location_id', 0)} parent_frame_id={parent}}}"
    yield ""
