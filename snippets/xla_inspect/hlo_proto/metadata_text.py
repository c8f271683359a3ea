"""Where an instruction comes from, as XLA writes it (xla/hlo/ir/hlo_op_metadata.cc, hlo_original_value.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import quote
from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.quoted_text import write_json
from xla_inspect.hlo_proto.schema import DEEPEST, MalformedProtoError, decode, name_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SHOWN = ("op_type", "op_name", "source_file", "scheduling_name", "stack_frame_id", "metadata_payload")
"""Without any of these, XLA writes no metadata at all."""


def find_payload(data: bytes, payloads: Sequence[bytes] = ()) -> bytes:
    """Return what a `Payload` holds, or refers to by its place in its module's list."""
    payload = decode("Payload", data)
    number = payload.get("id", -1)
    found: bytes = payload.get("value", payloads[number] if 0 <= number < len(payloads) else b"")
    return found


def write_metadata(data: bytes, payloads: Sequence[bytes] = ()) -> str:
    """Return the text of an `OpMetadata`, empty where it says nothing that XLA writes."""
    metadata = decode("OpMetadata", data)
    if "metadata_payload" in metadata:
        found = find_payload(metadata["metadata_payload"], payloads)
        metadata["metadata_payload"] = found.decode("utf-8", "surrogateescape")
    return " ".join(_write_fields(metadata)) if any(map(metadata.get, _SHOWN)) else ""


def _write_fields(metadata: dict[str, Any]) -> Iterator[str]:
    for field in ("op_type", "op_name", "source_file"):
        if text := metadata.get(field):
            yield f"{field}={quote(text)}"
    for field in ("source_line", "source_end_line", "source_column", "source_end_column"):
        if number := metadata.get(field):
            yield f"{field}={number}"
    if kinds := metadata.get("profile_type"):
        yield f"profile_type={{{','.join(map(str, kinds))}}}"
    if text := metadata.get("deduplicated_name"):
        yield f"deduplicated_name={quote(text)}"
    if text := metadata.get("scheduling_name"):
        yield f"scheduling_name={quote(text)}"
    if number := metadata.get("stack_frame_id"):
        yield f"stack_frame_id={number}"
    if text := metadata.get("metadata_payload"):
        yield f"metadata_payload={quote(text)}"


def write_frontend(data: bytes) -> str:
    """Return the text of `FrontendAttributes`, `{a="b"}`, in the order of the keys; empty where there are none."""
    parts = decode("FrontendAttributes", data).get("map", ())
    entries = [decode("FrontendAttributes.MapEntry", part) for part in parts]
    values = {entry.get("key", ""): entry.get("value", "") for entry in entries}
    return f"{{{','.join(f'{key}={write_json(values[key])}' for key in sorted(values))}}}" if values else ""


def write_origin(data: bytes) -> str:
    """Return the text of an `OriginalValueProto`: which instruction of the program as given made each array.

    It is empty where the message has the form that it had before jaxlib 0.7, which was another one under this name.
    """
    try:
        origin = decode("OriginalValueProto", data)
        text = "()" if origin.get("is_synthetic_call") else _write_elements(origin.get("elements", ()))
    except MalformedProtoError:
        return ""
    return text + (f",[{quote(origin['call_hierarchy'])}]" if "call_hierarchy" in origin else "")


def _write_elements(parts: Sequence[bytes]) -> str:
    tree: dict[int, Any] = {}
    for part in parts:
        element = decode("OriginalValueElementProto", part)
        index = element.get("shape_index", ())
        array = write_array(element["original_array"]) if "original_array" in element else ""
        if not index:
            return f"{{{array}}}"
        if len(index) > DEEPEST:
            message = f"an original value has an index of {len(index)} numbers"
            raise MalformedProtoError(message)
        inner = tree
        for number in index[:-1]:
            inner = found if isinstance(found := inner.setdefault(number, {}), dict) else {}
        inner[index[-1]] = array
    return _write_tree(tree)


def _write_tree(tree: Mapping[int, Any]) -> str:
    inner = (_write_tree(tree[n]) if isinstance(tree[n], dict) else f"{{{tree[n]}}}" for n in sorted(tree))
    return f"({', '.join(inner)})"


def write_array(data: bytes) -> str:
    """Return the text of an `OriginalArrayProto`: an instruction of the program as given, and an element of it."""
    array = decode("OriginalArrayProto", data)
    if not array.get("instruction_name"):
        message = "an array of the program as given has no name"
        raise MalformedProtoError(message)
    index = array.get("shape_index")
    return f'"{array.get("instruction_name", "")}"' + (f" {list_numbers(index)}" if index else "")


def write_debugging(data: bytes) -> str:
    """Return the text of a `DebugAttributeTableEntryProto`: how an array of the program as given is logged."""
    entry = decode("DebugAttributeTableEntryProto", data)
    groups = (_write_debug(decode("DebugAttributesProto", part)) for part in entry.get("debug_attributes", ()))
    return f"{{{write_array(entry.get('original_array', b''))}}}:({','.join(groups)})"


def _write_debug(attributes: Mapping[str, Any]) -> str:
    fields = []
    if mode := attributes.get("log_mode"):
        fields.append(f"log_mode={name_value('DebugAttributesProto.DebugLogModeProto', mode).lower()}")
    if "callback_id" in attributes:
        fields.append(f"callback_id={attributes['callback_id']}")
    if attributes.get("partitioned"):
        fields.append("partitioned=true")
    if "op_id" in attributes:
        fields.append(f"op_id={attributes['op_id']}")
    return f"{{{','.join(fields)}}}"
