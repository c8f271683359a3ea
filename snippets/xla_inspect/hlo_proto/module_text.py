"""A writer of the whole text of a module, as XLA prints it (xla/hlo/ir/hlo_module.cc, hlo_computation.cc)."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from xla_inspect.hlo import escape, quote
from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.field_text import form_of, write_fields, write_message
from xla_inspect.hlo_proto.instruction_text import InstructionText
from xla_inspect.hlo_proto.message import MalformedProtoError, look_up, refuse
from xla_inspect.hlo_proto.metadata_text import write_array, write_debugging
from xla_inspect.hlo_proto.module_graph import Computation, ModuleGraph, check_name
from xla_inspect.hlo_proto.shape_text import write_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo_proto.message import Message

# The text of a real module is at most three times as long as its file, so a much longer text means a malformed file.
_LEAST, _TIMES = 1 << 23, 20


class ModuleText:
    """Writer of a whole module's HLO text.

    Args:
        module: The `HloModuleProto`.
    """

    def __init__(self, module: Message) -> None:
        """Decode the module and its instructions.

        Raises:
            MalformedProtoError: The message is not a module.
        """
        self.module = module
        self.name = check_name(module.name, "the module")
        self.graph = ModuleGraph(module)
        self._room = _LEAST + _TIMES * len(module.data)
        self._instructions = InstructionText(self.graph, module.payloads)

    def write(self) -> str:
        """Return the text, as XLA prints it with stack-frame tables.

        Raises:
            MalformedProtoError: A part is malformed, or refers to something that does not exist.
        """
        module = self.module
        schedule = {entry.key: entry.value.instruction_ids for entry in module.schedule.sequences}
        head = ", ".join([f"HloModule {self.name}", *write_fields(module, "HloModuleProto"), *self._write_tables()])
        # The tables start on their own lines, so the blank after the comma before them is removed.
        lines = [head.replace(", \n", ",\n")]
        if frames := module.stack_frame_index:
            lines += _write_frames(frames)
        lines.append("")
        for computation in self.graph.order():
            lines += self._write_computation(computation, schedule.get(computation.number))
        text = "\n".join([*lines, ""])
        # Bytes that are not UTF-8 were read as surrogates, which cannot be written to a file.
        return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _write_tables(self) -> Iterator[str]:
        """Yield the tables about the recovery and the logging of arrays of the imported program."""
        if table := self.module.original_value_recovery_table:
            yield f"origin_recovery_table={{\n{''.join(self._write_recoveries(table))}}}\n"
        if entries := ",\n".join(f"  {write_debugging(entry)}" for entry in self.module.debug_attributes):
            yield f"\ndebug_attributes={{\n{entries}\n}}"

    def _write_recoveries(self, table: Message) -> Iterator[str]:
        for entry in table.entries:
            yield f"  {{{write_array(entry.old_original_array)}}} : {{{write_array(entry.new_original_array)}}}"
            if "recovery_module" in entry:
                # The inner module is a quoted string, in which everything but its line breaks is escaped.
                text = "\n".join(map(escape, ModuleText(entry.recovery_module).write().split("\n")))
                self._take_room(text)
                yield f',\n  "\n{indent(text, "    ")}\n  "'
            yield "\n"

    def _write_computation(self, computation: Computation, sequence: Sequence[int] | None) -> list[str]:
        instructions, root = computation.instructions, computation.root
        parameters = ", ".join(
            f"{parameter.name}: {write_shape(parameter.shape, layouts=False)}" for parameter in computation.parameters
        )
        result = write_shape(instructions[root].shape, layouts=False)
        entry = "ENTRY " if computation is self.graph.entry else ""
        lines = [f"{entry}%{computation.name} ({parameters}) -> {result} {{"]
        # A computation without a schedule is printed in the order of the file.
        for number in sequence or instructions:
            reference = f"the schedule of computation {computation.name} names instruction"
            instruction = look_up(instructions, number, reference)
            try:
                line = self._instructions.write(instruction, computation)
            except MalformedProtoError as error:
                message = f"instruction {instruction.name} of computation {computation.name}: {error}"
                raise MalformedProtoError(message) from error
            self._take_room(line)
            lines.append(f"  {'ROOT ' if number == root else ''}{line}")
        # XLA prints the execution thread only if it is not the default one.
        thread = f", execution_thread={quote(computation.thread)}" if computation.thread not in {"", "main"} else ""
        return [*lines, f"}}{thread}", ""]

    def _take_room(self, text: str) -> None:
        """Subtract the length of a text from the remaining budget.

        Raises:
            MalformedProtoError: The text is longer than that of any real module of this size.
        """
        self._room -= len(text)
        if self._room < 0:
            refuse(f"its text would take more than {_LEAST >> 20} MiB and {_TIMES} times the room of the file")


@form_of("HloInputOutputAliasProto")
def write_aliases(table: Message) -> str:
    """Return the text of the results that share an argument's memory, `{ {0}: (1, {}, may-alias) }`, or nothing."""
    entries = []
    for entry in sorted(table.entries, key=lambda entry: [*entry.output_shape_index]):
        kind = (entry.kind if "kind" in entry else "MAY_ALIAS").lower().replace("_", "-")
        argument = f"({entry.parameter_number}, {list_numbers(entry.parameter_shape_index)}, {kind})"
        entries.append(f"{list_numbers(entry.output_shape_index)}: {argument}")
    return f"{{ {', '.join(entries)} }}" if entries else ""


@form_of("HloBufferDonorProto")
def write_donors(table: Message) -> str:
    """Return the text of the arguments whose memory the program may reuse freely, `{ (0, {}) }`, or nothing."""
    rows = sorted((entry.parameter_number, [*entry.parameter_shape_index]) for entry in table.entries)
    return f"{{ {', '.join(f'({number}, {list_numbers(index)})' for number, index in rows)} }}" if rows else ""


def _write_frames(index: Message) -> Iterator[str]:
    """Yield the lines of the stack-frame tables, with rows numbered from 1."""
    tables = {
        "FileNames": [f'"{escape(name)}"' for name in index.file_names],
        "FunctionNames": [f'"{escape(name)}"' for name in index.function_names],
        "FileLocations": [write_message(row, "StackFrameIndexProto.FileLocation") for row in index.file_locations],
        "StackFrames": [write_message(row, "StackFrameIndexProto.StackFrame") for row in index.stack_frames],
    }
    for title, rows in tables.items():
        yield from ("", title, *(f"{number} {row}" for number, row in enumerate(rows, 1)))
    yield ""
