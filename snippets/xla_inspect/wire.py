"""A reader for the encoding of protocol buffers: numbered fields, each a number or bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST = 70
_MORE = 0x80
_SIGN = 1 << 63
_ALL = 2 * _SIGN - 1


def read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message: an int, or the bytes of a text or inner message.

    Args:
        data: The message. Numbers of fixed width come as their bits.

    Raises:
        EOFError: The message ends within a field.
        ValueError: The data is not a message.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            message = "a field has no number"
            raise ValueError(message)
        if kind == _VARINT:
            value, at = read_varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = read_varint(data, at)
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
    """Return an unsigned 64-bit number as a signed one."""
    # The encoding stores a negative number as its two's complement of 64 bits.
    return value - 2 * _SIGN if value & _SIGN else value


def as_float(bits: int) -> float:
    """Return the floating-point number whose 64 bits are given as an integer."""
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at a position, and the position after it; raise `EOFError` if it is cut off."""
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
            # A number of 64 bits has at most ten bytes, with seven bits in each.
            if shift >= _LONGEST:
                message = "a number has more than 64 bits"
                raise ValueError(message)
    except IndexError as error:
        raise EOFError from error


class Field(NamedTuple):
    """A field as a `.proto` file declares it: its number, its name, its type, and whether it is repeated."""

    number: int
    name: str
    kind: str
    repeated: bool


Layout = Mapping[int, tuple[str, int]]
"""The name of each field and the way to read its value, by the tag before the value."""

_NUMBER, _TEXT, _PART, _FLOAT, _DOUBLE, _NUMBERS, _PACKED, _TEXTS, _PARTS, _FLOATS, _DOUBLES = range(1, 12)
_UNKNOWN = "", 0
_FIXED = {"float": (_FIXED32, _FLOAT, _FLOATS), "double": (_FIXED64, _DOUBLE, _DOUBLES)}
_LENGTHS = {"string": (_TEXT, _TEXTS), "bytes": (_PART, _PARTS), "message": (_PART, _PARTS)}


def lay_out(fields: Iterable[Field]) -> Layout:
    """Return the layout of a message's fields for `read_message`, which reads repeated numbers packed or separate."""
    layout: dict[int, tuple[str, int]] = {}
    for number, name, kind, repeated in fields:
        tag = number << 3
        if kind in _LENGTHS:
            layout[tag | _BYTES] = name, _LENGTHS[kind][repeated]
        elif kind in _FIXED:
            wire, one, many = _FIXED[kind]
            layout[tag | wire] = name, many if repeated else one
            # A writer may pack repeated numbers into one field or write them one by one, and a reader must accept both.
            if repeated:
                layout[tag | _BYTES] = name, many
        else:
            layout[tag] = name, _NUMBERS if repeated else _NUMBER
            if repeated:
                layout[tag | _BYTES] = name, _PACKED
    return layout


def read_message(data: bytes, layout: Layout) -> dict[str, Any]:  # noqa: C901, PLR0912 - calls would halve its speed
    """Return the fields of a message that are set, by name, ignoring unknown ones.

    Args:
        data: The message.
        layout: Its fields. Numbers are returned as signed, texts decoded (invalid UTF-8 as surrogates), messages as
            bytes, and repeated fields as lists.

    Raises:
        EOFError: The message ends within a field.
        ValueError: The data is not a message.
    """
    values: dict[str, Any] = {}
    at, end = 0, len(data)
    try:
        while at < end:
            tag = data[at]
            at += 1
            # Most tags and numbers have one byte, so these are read without a call.
            if tag >= _MORE:
                tag, at = read_varint(data, at - 1)
            name, how = layout.get(tag, _UNKNOWN)
            kind = tag & 7
            if kind == _VARINT:
                value = data[at]
                at += 1
                if value >= _MORE:
                    value, at = read_varint(data, at - 1)
                    value = as_signed(value & _ALL)
                if how == _NUMBER:
                    values[name] = value
                elif how == _NUMBERS:
                    values.setdefault(name, []).append(value)
            elif kind == _BYTES:
                length = data[at]
                at += 1
                if length >= _MORE:
                    length, at = read_varint(data, at - 1)
                start, at = at, at + length
                if at > end:
                    raise EOFError
                if how:
                    _keep_part(values, name, how, data[start:at])
            else:
                start, at = at, at + (8 if kind == _FIXED64 else 4)
                _keep_fixed(values, name, how, kind, data[start:at])
            if tag < 1 << 3:
                message = "a field has no number"
                raise ValueError(message)
    except IndexError as error:
        raise EOFError from error
    return values


def _keep_part(values: dict[str, Any], name: str, how: int, part: bytes) -> None:
    if how == _PART:
        values[name] = part
    elif how == _TEXT:
        values[name] = part.decode("utf-8", "surrogateescape")
    elif how == _PARTS:
        values.setdefault(name, []).append(part)
    elif how == _PACKED:
        numbers, at = values.setdefault(name, []), 0
        while at < len(part):
            number, at = read_varint(part, at)
            numbers.append(as_signed(number & _ALL))
    elif how == _TEXTS:
        values.setdefault(name, []).append(part.decode("utf-8", "surrogateescape"))
    else:
        size, form = (4, "f") if how == _FLOATS else (8, "d")
        # A packed list of numbers of fixed width cannot end within a number.
        if len(part) % size:
            raise EOFError
        values.setdefault(name, []).extend(struct.unpack(f"<{len(part) // size}{form}", part))


def _keep_fixed(values: dict[str, Any], name: str, how: int, kind: int, part: bytes) -> None:
    if kind not in {_FIXED64, _FIXED32}:
        message = f"a field is of the unknown kind {kind}"
        raise ValueError(message)
    if len(part) != (8 if kind == _FIXED64 else 4):
        raise EOFError
    if how:
        value = struct.unpack("<d" if kind == _FIXED64 else "<f", part)[0]
        if how in {_FLOATS, _DOUBLES}:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
