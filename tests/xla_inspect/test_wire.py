"""The decoding of protocol buffers, compared with the official library."""

from __future__ import annotations

import struct

import pytest
from google.protobuf import struct_pb2

from xla_inspect.wire import Field, lay_out, read_fields, read_message

LAYOUT = lay_out(
    [
        Field(1, "number", "int64", repeated=False),
        Field(2, "numbers", "int32", repeated=True),
        Field(3, "text", "string", repeated=False),
        Field(4, "float", "float", repeated=False),
        Field(5, "doubles", "double", repeated=True),
        Field(6, "parts", "message", repeated=True),
    ]
)
MINUS_ONE = b"\xff" * 9 + b"\x01"


def test_numbers_texts_and_messages_are_read_by_name() -> None:
    data = b"\x08" + MINUS_ONE + b"\x1a\x02hi\x32\x01a\x32\x00\x25" + struct.pack("<f", 0.5)
    assert read_message(data, LAYOUT) == {"number": -1, "text": "hi", "parts": [b"a", b""], "float": 0.5}


def test_repeated_fields_can_be_packed_or_single_or_both() -> None:
    data = b"\x10\x05\x12\x0b\x01" + MINUS_ONE + b"\x10\x07\x29" + struct.pack("<d", 1.5)
    data += b"\x2a\x10" + struct.pack("<dd", 2.5, -3.5)
    assert read_message(data, LAYOUT) == {"numbers": [5, 1, -1, 7], "doubles": [1.5, 2.5, -3.5]}


def test_fields_that_are_unknown_or_of_another_kind_are_passed_over() -> None:
    assert read_message(b"\x78\x01\x7a\x01a\x7d0000\x7900000000", LAYOUT) == {}
    assert read_message(b"\x0a\x01a", LAYOUT) == {}


def test_a_text_that_is_not_utf_8_loses_nothing() -> None:
    assert read_message(b"\x1a\x01\xff", LAYOUT)["text"].encode("utf-8", "surrogateescape") == b"\xff"


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x08\xff", b"\x1a\x05a", b"\x25123", b"\x2a\x011", b"\x12\x01\xff", b"\x80"]
)
def test_a_message_that_ends_within_a_field_says_so(data: bytes) -> None:
    with pytest.raises(EOFError):
        read_message(data, LAYOUT)


@pytest.mark.parametrize("data", [b"\x08" + b"\xff" * 12, b"\x0b", b"\x0f", b"\x00\x01"])
def test_invalid_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"number|kind"):
        read_message(data, LAYOUT)


def test_the_fields_of_a_message_are_those_that_protobuf_wrote() -> None:
    value = struct_pb2.Struct()
    value.update({"a": 1.5, "b": "text", "c": [True, None]})
    data = value.SerializeToString()
    assert [number for number, _ in read_fields(memoryview(data))] == [1, 1, 1]
    entries = read_message(data, lay_out([Field(1, "fields", "message", repeated=True)]))["fields"]
    keys = [read_message(entry, lay_out([Field(1, "key", "string", repeated=False)]))["key"] for entry in entries]
    assert sorted(keys) == ["a", "b", "c"]
