"""Constants as XLA writes them, on one line (xla/literal.cc, xla/util.cc)."""

from __future__ import annotations

import math
import re
import struct
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from xla_inspect.hlo_proto.schema import DEEPEST, MalformedProtoError, decode
from xla_inspect.hlo_proto.shape_text import name_type, write_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

ELIDED = "{...}"
_MOST = 10
_NOTED = 3
_BRACES = 1 << 12


def write_constant(data: bytes | None, shape: bytes) -> str:
    """Return the values of a constant, or `{...}` where it has none, is no array or holds more than ten.

    Args:
        data: The `LiteralProto`, or None.
        shape: The `ShapeProto` of the instruction.
    """
    fields = decode("ShapeProto", shape)
    sizes = _check_rank(fields.get("dimensions", ()))
    is_array = name_type(fields.get("element_type", 0)) not in {"tuple", "token", "opaque", "buffer"}
    if data is None or not is_array or math.prod(sizes) > _MOST or _count_rows(sizes) > _BRACES:
        return ELIDED
    return write_literal(data)


def write_literal(data: bytes, *, layout: bool = False, depth: int = 0) -> str:
    """Return a literal, after its shape if `layout`.

    Raises:
        MalformedProtoError: It is no literal, or holds other values than its shape says.
    """
    if depth >= DEEPEST:
        message = f"literals nest deeper than {DEEPEST} levels"
        raise MalformedProtoError(message)
    literal = decode("LiteralProto", data)
    shape = decode("ShapeProto", literal.get("shape", b""))
    kind = name_type(shape.get("element_type", 0))
    if kind == "tuple":
        parts = [write_literal(part, layout=layout, depth=depth + 1) for part in literal.get("tuple_literals", ())]
        return f"( {', '.join(parts)} )" if parts else "()"
    before = f"{write_shape(literal['shape'])} " if layout and "shape" in literal else ""
    if kind == "token":
        return before + "token"
    sizes = _check_rank(shape.get("dimensions", ()))
    count = math.prod(sizes)
    if min(sizes, default=0) < 0 or max(count, _count_rows(sizes)) > len(data) * 8 + _BRACES:
        message = f"a literal of {len(data)} bytes has a shape of {sizes}"
        raise MalformedProtoError(message)
    values = _read_values(literal, kind, count)
    if values is None:
        return before + ELIDED
    return before + _write_array(values, sizes, _find_strides(shape, sizes), kind)


def _count_rows(sizes: Sequence[int]) -> int:
    """Return how many braces an array takes: those before its first dimension without elements."""
    return math.prod(takewhile(lambda size: size > 0, sizes))


def _check_rank(sizes: Sequence[int]) -> Sequence[int]:
    if len(sizes) > DEEPEST:
        message = f"an array has {len(sizes):,} dimensions"
        raise MalformedProtoError(message)
    return sizes


def _find_strides(shape: dict[str, Any], sizes: Sequence[int]) -> list[int]:
    """Return how far apart neighbours of each dimension lie: values come in the order of the shape's layout."""
    order = decode("LayoutProto", shape.get("layout", b"")).get("minor_to_major", ())
    if sorted(order) != list(range(len(sizes))):
        order = range(len(sizes) - 1, -1, -1)
    strides, step = [0] * len(sizes), 1
    for dimension in order:
        strides[dimension] = step
        step *= sizes[dimension]
    return strides


def _write_array(values: Sequence[Any], sizes: Sequence[int], strides: Sequence[int], kind: str) -> str:
    if not sizes:
        return write_number(values[0], kind) if kind != "pred" else "true" if values[0] else "false"
    rank = len(sizes)

    def write(at: int, place: int, number: int) -> str:
        size, step = sizes[at], strides[at]
        places = range(place, place + step * size, step) if step else [place] * size
        if at == rank - 1:
            inner = ", ".join(write_number(values[place], kind) for place in places)
            return f"{{{inner}}}" if rank == 1 or size <= 1 else f"{{ {inner} }}"
        note = f" /*i{at - 1}={number}*/" if at and rank > _NOTED else ""
        rows = ", ".join(write(at + 1, place, row) for row, place in enumerate(places))
        return f"{{{note} }}" if note and not rows else f"{{{note} {rows} }}"

    return write(0, 0, 0)


def write_number(value: Any, kind: str) -> str:  # noqa: ANN401 - a number, or the two of a complex one
    """Return a number of a type, as `RoundTripFpToString` does: with as many digits as tell it apart."""
    if kind in {"c64", "c128"}:
        part = "f32" if kind == "c64" else "f64"
        return f"({write_number(value[0], part)}, {write_number(value[1], part)})"
    if not isinstance(value, float):
        return str(int(value))
    if math.isnan(value):
        return _write_nan(value, kind)
    all_ = f"{value:.{_count_digits(kind)}g}"
    few, form = _SHORTER.get(kind, (0, ""))
    short = f"{value:.{few}g}"
    return short if few and _round(float(short), form) == value else all_


def _write_nan(value: float, kind: str) -> str:
    """Return a nan with what it carries, where that is not the usual."""
    bits = int.from_bytes(struct.pack(">d", value))
    width = _MANTISSAS.get(kind, 0)
    carried = (bits & ((1 << 52) - 1)) >> (52 - width)
    usual = not width or carried == 1 << (width - 1)
    return ("-nan" if bits >> 63 else "nan") + ("" if usual else f"(0x{carried:x})")


# Digits that are enough for most numbers of these types, and how `struct` names the types.
_SHORTER = {"f32": (6, "f"), "f64": (15, "d")}
_MANTISSAS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
_SMALL = re.compile(r"f\d+e(\d)m(\d)(b11)?(fn)?(u?n?u?z?)")


def _count_digits(kind: str) -> int:
    """Return the digits that tell any two numbers of a type apart."""
    match = _SMALL.match(kind)
    mantissa = int(match[2]) if match else _MANTISSAS.get(kind, 52)
    return math.ceil(1 + (mantissa + 1) * math.log10(2))


def _round(value: float, form: str) -> float:
    try:
        return float(struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        return math.inf


# The fields of a literal whose name is not that of the type, and which are lists.
_LISTS = frozenset({"pred", "s32", "s64", "u32", "u64", "f32", "f64", "c64", "c128"})


def _read_values(literal: dict[str, Any], kind: str, count: int) -> Sequence[Any] | None:
    """Return the values of a literal; None where it was stripped of them, or packs them as no known XLA."""
    values: Sequence[Any] = literal.get(f"{kind}s", ())
    if kind in {"c64", "c128"}:
        values = list(zip(values[::2], values[1::2], strict=False))
    elif kind in {"u32", "u64"}:
        values = [value % (1 << int(kind[1:])) for value in values]
    elif kind not in _LISTS:
        values = _unpack(bytes(values), kind)
    if len(values) < count:
        if not values:
            return None
        if _bits(kind) < BYTE and len(values) * (BYTE // _bits(kind)) >= count:
            return None
        message = f"a literal of {count} {kind} holds {len(values)}"
        raise MalformedProtoError(message)
    return values


BYTE, _ALL_BITS = 8, 0xFF


def _bits(kind: str) -> int:
    return int("".join(filter(str.isdecimal, kind[:3])) or BYTE)


def _unpack(data: bytes, kind: str) -> Sequence[Any]:
    bits = _bits(kind)
    if kind in _FORMS:
        size = struct.calcsize(_FORMS[kind])
        return struct.unpack(f"<{len(data) // size}{_FORMS[kind]}", data[: len(data) // size * size])
    if kind == "bf16":
        return [_read_bfloat(number) for number in struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])]
    if kind[0] in "su":
        half, mask = 1 << (bits - 1), (1 << bits) - 1
        return [((byte & mask) ^ half) - half if kind[0] == "s" else byte & mask for byte in data]
    return [_read_small(byte, kind) for byte in data]


_FORMS = {"f16": "e", "s16": "h", "u16": "H"}


def _read_bfloat(bits: int) -> float:
    if ~bits & 0x7F80:
        return float(struct.unpack(">f", (bits << 16).to_bytes(4))[0])
    # To widen a number as the machine does would change what a nan carries.
    return float(struct.unpack(">d", (bits >> 15 << 63 | 0x7FF << 52 | (bits & 0x7F) << 45).to_bytes(8))[0])


def _read_small(byte: int, kind: str) -> float:
    """Return the number that a byte stands for in one of the types of at most eight bits."""
    if kind == "f8e8m0fnu":
        return math.nan if byte == _ALL_BITS else math.ldexp(1.0, byte - 127)
    match = _SMALL.fullmatch(kind)
    if not match:
        message = f"a literal is of the unknown type {kind}"
        raise MalformedProtoError(message)
    exponents, mantissas = int(match[1]), int(match[2])
    unsigned_zero = kind.endswith("uz")
    sign = -1.0 if byte >> (exponents + mantissas) & 1 else 1.0
    exponent, mantissa = byte >> mantissas & ((1 << exponents) - 1), byte & ((1 << mantissas) - 1)
    bias = 11 if match[3] else (1 << (exponents - 1)) - (0 if unsigned_zero else 1)
    if unsigned_zero:
        if byte == 1 << (exponents + mantissas):
            return -math.nan
    elif exponent == (1 << exponents) - 1 and _bits(kind) == BYTE:
        if not match[4]:
            return math.copysign(math.nan, sign) if mantissa else sign * math.inf
        if mantissa == (1 << mantissas) - 1:
            return math.copysign(math.nan, sign)
    if not exponent:
        return sign * math.ldexp(mantissa, 1 - bias - mantissas)
    return sign * math.ldexp(mantissa + (1 << mantissas), exponent - bias - mantissas)
