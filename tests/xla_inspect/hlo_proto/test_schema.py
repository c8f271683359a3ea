"""The table of proto fields, compared with the descriptors in jaxlib."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jaxlib
import pytest
from jaxlib import _hlo
from messages import read_descriptors
from protos import hlo_proto
from written_modules import TEXTS

from xla_inspect.hlo_proto import MESSAGES
from xla_inspect.hlo_proto.schema import FIELDS, OLDER, VALUES

FILES = ("xla/service/hlo.proto", "xla/xla_data.proto")
TYPES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32",
}  # fmt: skip
REPEATED = 3


@cache
def descriptions() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the messages and the enumerations of XLA's files, by their names within the package."""
    messages: dict[str, Any] = {}
    enumerations: dict[str, Any] = {}

    def add(prefix: str, message: Any) -> None:  # noqa: ANN401 - the class is built at run time
        messages[prefix + message.name] = message
        enumerations.update({f"{prefix}{message.name}.{enum.name}": enum for enum in message.enum_type})
        for inner in message.nested_type:
            add(f"{prefix}{message.name}.", inner)

    for file in read_descriptors(Path(jaxlib.__file__).parent / "libjax_common.so"):
        if file.name in FILES:
            enumerations |= {enum.name: enum for enum in file.enum_type}
            for message in file.message_type:
                add("", message)
    return messages, enumerations


def test_each_field_is_as_jaxlib_describes_it() -> None:
    messages, _ = descriptions()
    ours = {
        (message, field.number, field.name, field.kind, field.repeated)
        for message, fields in FIELDS.items()
        for field in fields
        if field not in OLDER.get(message, ())
    }
    theirs = {
        (
            name,
            field.number,
            field.name,
            TYPES.get(field.type) or field.type_name.removeprefix(".xla."),
            field.label == REPEATED,
        )
        for name, message in messages.items()
        for field in message.field
    }
    assert ours - theirs == set()
    assert len(ours) > 300


def test_a_field_of_older_compilers_is_absent_from_the_newest() -> None:
    messages, _ = descriptions()
    numbers = {name: {field.number for field in message.field} for name, message in messages.items()}
    assert [name for name, fields in OLDER.items() for field in fields if field.number in numbers[name]] == []


def test_each_value_of_an_enumeration_is_as_jaxlib_describes_it() -> None:
    _, enumerations = descriptions()
    theirs = {name: {value.number: value.name for value in enumerations[name].value} for name in VALUES}
    assert theirs == VALUES


def test_every_field_of_an_instruction_is_written_or_listed() -> None:
    """A new field of XLA would be missing from every text, so each is written, or listed here as redundant."""
    messages, _ = descriptions()
    passed_over = {"all_reduce_id", "is_cross_program_prefetch"}
    covered = {field.name for field in FIELDS["HloInstructionProto"]} | passed_over
    assert {field.name for field in messages["HloInstructionProto"].field} - covered == set()


@pytest.mark.parametrize("name", TEXTS)
def test_messages_are_decoded_as_protobuf_decodes_them(name: str) -> None:
    data = bytes(_hlo.hlo_module_from_text(TEXTS[name]).as_serialized_hlo_module_proto())
    theirs = type(hlo_proto()().hlo_module).FromString(data)
    assert compare("HloModuleProto", MESSAGES["HloModuleProto"](data), theirs) > 20


def compare(kind: str, ours: Any, theirs: Any) -> int:  # noqa: ANN401 - the classes are built at run time
    """Assert that the fields of a message and its nested messages equal the library's; return their number."""
    compared = 0
    for field in (field for field in FIELDS[kind] if field not in OLDER.get(kind, ())):
        one, other = getattr(ours, field.name), getattr(theirs, field.name)
        is_map = (
            field.kind in FIELDS and theirs.DESCRIPTOR.fields_by_name[field.name].message_type.GetOptions().map_entry
        )
        if is_map or (field.kind in FIELDS and not field.repeated and not theirs.HasField(field.name)):
            continue
        pairs = list(zip(one, other, strict=True)) if field.repeated else [(one, other)]
        if field.kind in FIELDS:
            assert field.repeated or field.name in ours
            compared += sum(compare(field.kind, mine, yours) for mine, yours in pairs)
            continue
        for mine, yours in pairs:
            value = VALUES[field.kind][yours] if field.kind in VALUES else yours
            # A number without a sign comes with one; no nan equals another.
            assert mine == value or mine + (1 << 64) == value or str(mine) == str(value), f"{kind}.{field.name}: {mine}"
            compared += 1
    return compared
