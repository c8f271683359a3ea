"""Writers of instructions' metadata, frontend attributes, original values and statistics, in the form of HLO text.

The form is that of XLA (xla/hlo/ir/hlo_op_metadata.cc, hlo_original_value.cc).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import quote
from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.field_text import form_of, write_message
from xla_inspect.hlo_proto.message import MalformedProtoError, refuse
from xla_inspect.hlo_proto.quoted_text import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.hlo_proto.message import Message

# XLA writes no metadata if it has neither a payload nor any of these fields.
_SHOWN = ("op_type", "op_name", "source_file", "scheduling_name", "stack_frame_id")
_DEEPEST = 64


@form_of("Payload")
def write_payload(payload: Message) -> str:
    """Return the text of a payload as a quoted string, or an empty string."""
    return quote(payload.value.decode("utf-8", "surrogateescape")) if payload.value else ""


def read_payload(payload: Message, payloads: Sequence[bytes]) -> bytes:
    """Return a payload's bytes; if it has only an id, first store in it the bytes at that index of `payloads`."""
    if "value" not in payload and 0 <= payload.id < len(payloads) and "id" in payload:
        vars(payload)["value"] = payloads[payload.id]
    value: bytes = payload.value
    return value


@form_of("OpMetadata")
def write_metadata(metadata: Message) -> str:
    """Return the text of an `OpMetadata`; empty if it has no field that XLA writes."""
    if any(map(vars(metadata).get, _SHOWN)) or ("metadata_payload" in metadata and metadata.metadata_payload.value):
        return write_message(metadata, "OpMetadata")
    return ""


@form_of("FrontendAttributes")
def write_frontend(attributes: Message) -> str:
    """Return the text of `FrontendAttributes`, `{a="b"}`, sorted by key; empty without attributes."""
    values = {entry.key: write_json(entry.value) for entry in attributes.map}
    return f"{{{','.join(f'{key}={values[key]}' for key in sorted(values))}}}" if values else ""


@form_of("origin")
def write_origin(instruction: Message) -> str:
    """Return the text of the original instruction of each array in an instruction's result, or an empty string.

    It is empty without this field and for a malformed one: before jaxlib 0.7, a different message had this name.
    """
    if "original_value" not in instruction:
        return ""
    try:
        origin = instruction.original_value
        text = "()" if origin.is_synthetic_call else _write_elements(origin.elements)
    except MalformedProtoError:
        return ""
    return f"{{{text},[{quote(origin.call_hierarchy)}]}}" if "call_hierarchy" in origin else f"{{{text}}}"


def _write_elements(elements: Sequence[Message]) -> str:
    tree: dict[int, Any] = {}
    for element in elements:
        index = element.shape_index
        array = write_array(element.original_array) if "original_array" in element else ""
        # An empty index means that the result is not a tuple, so there is no second element.
        if not index:
            return f"{{{array}}}"
        if len(index) > _DEEPEST:
            refuse(f"an original value has an index of {len(index)} numbers")
        # The elements form a tree by their tuple indices, which is printed with nested parentheses.
        inner = tree
        for number in index[:-1]:
            # In a malformed message, an index may be both a leaf and a branch; then the leaf wins.
            inner = branch if isinstance(branch := inner.setdefault(number, {}), dict) else {}
        inner[index[-1]] = array
    return _write_tree(tree)


def _write_tree(tree: Mapping[int, Any]) -> str:
    inner = (_write_tree(tree[n]) if isinstance(tree[n], dict) else f"{{{tree[n]}}}" for n in sorted(tree))
    return f"({', '.join(inner)})"


def write_array(array: Message) -> str:
    """Return the text of an `OriginalArrayProto`: an instruction's name in the imported program and a tuple index.

    Raises:
        MalformedProtoError: The name is missing.
    """
    if not array.instruction_name:
        refuse("an array of the program as given has no name")
    return f'"{array.instruction_name}"' + (f" {list_numbers(array.shape_index)}" if array.shape_index else "")


@form_of("DebugAttributeTableEntryProto")
def write_debugging(entry: Message) -> str:
    """Return the text of a `DebugAttributeTableEntryProto`: the logging of an array of the imported program."""
    groups = (write_message(part, "DebugAttributesProto") or "{}" for part in entry.debug_attributes)
    return f"{{{write_array(entry.original_array)}}}:({','.join(groups)})"


@form_of("StatisticsViz")
def write_statistics(statistics: Message) -> str:
    """Return the text of an instruction's measured statistics, with the index of the visualized one."""
    values = ",".join(f"{part.stat_name}={part.stat_val:.6g}" for part in statistics.statistics)
    return f"{{visualizing_index={statistics.stat_index_to_visualize},{values}}}" if values else ""
