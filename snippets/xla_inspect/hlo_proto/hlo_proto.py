"""The reader of XLA modules in protocol buffers, which returns them as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.hlo_proto.buffer_text import write_buffers
from xla_inspect.hlo_proto.message import MESSAGES, MalformedProtoError, refuse
from xla_inspect.hlo_proto.module_graph import NAMED
from xla_inspect.hlo_proto.module_text import ModuleText
from xla_inspect.hlo_proto.other_kind import name_kind

if TYPE_CHECKING:
    from xla_inspect.hlo_proto.message import Message


@dataclass(frozen=True)
class HloProto:
    """The content of an `HloProto` or an `HloModuleProto`.

    Attributes:
        name: The module's name.
        id: The module's number in the process that compiled it.
        text: The module as XLA prints it, with stack-frame tables.
        buffers: The memory plan in the form of `buffer-assignment.txt`, or an empty string if the bytes have no plan.
    """

    name: str
    id: int
    text: str
    buffers: str


def read_hlo_proto(data: bytes | memoryview) -> HloProto:
    """Return the module in bytes from `--xla_dump_hlo_as_proto` or `as_serialized_hlo_module_proto()`.

    Args:
        data: The bytes of an `HloProto` or an `HloModuleProto`.

    Raises:
        InspectError: The bytes are neither, or broken; the message has their kind if it is known, or else the reason.
    """
    whole = bytes(data)
    try:
        module, plan = _split(whole)
        text = ModuleText(module)
        buffers = write_buffers(plan, text.graph) if plan else ""
        return HloProto(text.name, module.id, text.write(), buffers)
    except MalformedProtoError as error:
        kind = name_kind(whole)
        message = f"it is {kind}, and no HloProto" if kind else f"it is no HloProto, or a broken one: {error}"
        message += "\nname a file that --xla_dump_hlo_as_proto or as_serialized_hlo_module_proto() wrote"
        raise MalformedProtoError(message) from error


def _split(data: bytes) -> tuple[Message, Message | None]:
    """Return the module and the memory plan in some bytes, or None for a missing plan; raise an error without a module.

    The first field is the module in an `HloProto`, the name in an `HloModuleProto`, and an `HloProto` in an
    `HloSnapshot`, so the contents of the first field decide the type of the message.
    """
    # `vars()` has the bytes of the inner message, which are decoded below as each possible type.
    inner: bytes = vars(_try("HloProto", data)).get("_hlo_module", b"")
    for whole in (_try("HloProto", data), _try("HloProto", inner)):
        if "computations" in _try("HloModuleProto", vars(whole).get("_hlo_module", b"")):
            return whole.hlo_module, whole.buffer_assignment
    is_name = NAMED.fullmatch(inner.decode("utf-8", "replace"))
    # Decoding the bytes as the most likely type gives an error with a position if they are malformed.
    module = MESSAGES["HloModuleProto"](inner if inner and not is_name else data)
    if "computations" in module and is_name:
        return module, None
    return refuse(f"there is no computation in its {len(data):,} bytes")


def _try(kind: str, data: bytes) -> Message:
    """Decode bytes as a message, or return an empty message if they are malformed."""
    try:
        return MESSAGES[kind](data)
    except MalformedProtoError:
        return MESSAGES[kind]()
