"""The encoding of protocol buffers, as far as reading needs it: numbered fields, each a number or bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST = 70
_MORE = 0x80
_SIGN = 1 << 63


def read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message: an int, or the bytes of a text or inner message.

    Args:
        data: The message. Numbers of fixed width come as their bits.

    Raises:
        EOFError: It ends within a field.
        ValueError: It is no message.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            message = "a field has no number"
            raise ValueError(message)
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(data, at)
        elif kind in {_FIXED64, _FIXED32}:
            length = 8 if kind == _FIXED64 else 4
        else:
            message = f"a field is of the unknown kind {kind}"
            raise ValueError(message)
        if at + length > end:
            raise EOFError
        part = data[at : at + length]
        yield number, part if kind == _BYTES else int.from_bytes(part, "little")
        at += length


def as_signed(value: int) -> int:
    """Return a number of 64 bits that was written with a sign."""
    return value - 2 * _SIGN if value & _SIGN else value


def as_float(bits: int) -> float:
    """Return the number that eight bytes stand for."""
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    try:
        byte = data[at]
        if byte < _MORE:
            return byte, at + 1
        value, shift = byte & 0x7F, 7
        while True:
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            if byte < _MORE:
                return value, at + 1
            shift += 7
            if shift >= _LONGEST:
                message = "a number is longer than any can be"
                raise ValueError(message)
    except IndexError as error:
        raise EOFError from error
