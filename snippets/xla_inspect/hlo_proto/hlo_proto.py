"""A module that XLA wrote as a protocol buffer, as its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xla_inspect.hlo_proto.buffer_text import write_buffers
from xla_inspect.hlo_proto.module_graph import NAMED
from xla_inspect.hlo_proto.module_text import ModuleText
from xla_inspect.hlo_proto.other_kind import name_kind
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


def read_hlo_proto(data: bytes | memoryview) -> HloProto:
    """Read a module that was written with `--xla_dump_hlo_as_proto` or by `as_serialized_hlo_module_proto()`.

    Args:
        data: The bytes of an `HloProto` or an `HloModuleProto`.

    Raises:
        InspectError: They are neither; the message says what they are and where they break.
    """
    whole = bytes(data)
    try:
        module, plan = _split(whole)
        text = ModuleText(module)
        buffers = write_buffers(plan, text.graph) if plan else ""
        return HloProto(text.name, text.fields.get("id", 0), text.write(), buffers)
    except MalformedProtoError as error:
        kind = name_kind(whole)
        message = f"it is {kind}, and no HloProto" if kind else f"it is no HloProto, or a broken one: {error}"
        message += "\nname a file that --xla_dump_hlo_as_proto or as_serialized_hlo_module_proto() wrote"
        raise MalformedProtoError(message) from error


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Return the module and the memory plan.

    The first field of an `HloProto` is the module, that of a module its name, and that of an `HloSnapshot` an
    `HloProto`, so what one of them is shows in what it holds.
    """
    fields = _try("HloProto", data)
    inner = fields.get("hlo_module", b"")
    if "computations" in _try("HloModuleProto", inner):
        return inner, fields.get("buffer_assignment", b"")
    snapshot = _try("HloProto", inner)
    if "computations" in _try("HloModuleProto", snapshot.get("hlo_module", b"")):
        return snapshot["hlo_module"], snapshot.get("buffer_assignment", b"")
    is_name = NAMED.fullmatch(inner.decode("utf-8", "replace"))
    # To decode what the bytes are taken for says where they break, if they do.
    if "computations" in decode("HloModuleProto", inner if inner and not is_name else data) and is_name:
        return data, b""
    message = f"there is no computation in its {len(data):,} bytes"
    raise MalformedProtoError(message)


def _try(message: str, data: bytes) -> dict[str, Any]:
    try:
        return decode(message, data)
    except MalformedProtoError:
        return {}
