"""A module that XLA wrote as a protocol buffer, as its text."""

from __future__ import annotations

from dataclasses import dataclass

from xla_inspect.hlo_proto.module_text import ModuleText
from xla_inspect.hlo_proto.schema import MalformedProtoError, decode


@dataclass(frozen=True)
class HloProto:
    """What an `HloProto` or an `HloModuleProto` holds.

    Attributes:
        name: The module's name.
        id: The number that the process gave it which compiled it.
        text: The module as XLA prints it, with its tables of stack frames.
        buffers: Its memory plan, as `buffer-assignment.txt` has it, or an empty string.
    """

    name: str
    id: int
    text: str
    buffers: str


def read_hlo_proto(data: bytes | memoryview, *, dumped: bool = True) -> HloProto:
    """Read a module that was written with `--xla_dump_hlo_as_proto` or by `as_serialized_hlo_module_proto()`.

    Args:
        data: The bytes of an `HloProto` or an `HloModuleProto`.
        dumped: Whether to write the text as XLA does into a dump, or else as `to_string()` does: the former sorts the
            keys of configurations, the latter shortens asynchronous calls.

    Raises:
        InspectError: They are neither; the message says what they are and where they break.
    """
    whole = bytes(data)
    module, _plan = _split(whole)
    text = ModuleText(module, dumped=dumped)
    return HloProto(text.name, text.fields.get("id", 0), text.write(), "")


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Return the module and the memory plan. An `HloProto` begins with a module, a module with its name."""
    fields = decode("HloProto", data)
    module = fields.get("hlo_module")
    if module is not None:
        try:
            if "computations" in decode("HloModuleProto", module):
                return module, fields.get("buffer_assignment", b"")
        except MalformedProtoError:
            if "computations" not in decode("HloModuleProto", data):
                raise
    return data, b""
