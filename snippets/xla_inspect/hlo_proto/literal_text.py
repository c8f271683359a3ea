"""The text of constants on one line, as XLA writes them (xla/literal.cc, xla/util.cc)."""

from __future__ import annotations

import math
import re
import struct
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from xla_inspect.hlo_proto.field_text import form_of
from xla_inspect.hlo_proto.message import refuse
from xla_inspect.hlo_proto.shape_text import name_type, write_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.hlo_proto.message import Message

ELIDED = "{...}"
_MOST = 10
_NOTED = 3
_BRACES = 1 << 12
_HIGHEST_RANK = 64
_BYTE, _ALL_BITS = 8, 0xFF
_PARTS = {"c64": "f32", "c128": "f64"}
# The number of digits that suffices for most numbers of these types, and the types' codes in `struct`.
_SHORTER = {"f32": (6, "f"), "f64": (15, "d")}
_MANTISSAS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
_FORMS = {"f16": "e", "s16": "h", "u16": "H", "bf16": "H"}
_SMALL = re.compile(r"f\d+e(\d)m(\d)(b11)?(fn)?(u?n?u?z?)")


def write_constant(constant: Message) -> str:
    """Return the text of a constant's values, or `{...}` if it has no values, more than ten, or is not an array."""
    sizes = _check_rank(constant.shape.dimensions)
    is_array = name_type(constant.shape.element_type) not in {"tuple", "token", "opaque", "buffer"}
    if "literal" not in constant or not is_array or math.prod(sizes) > _MOST or _count_rows(sizes) > _BRACES:
        return ELIDED
    return _write_values(constant.literal)


@form_of("LiteralProto")
def write_literal(literal: Message) -> str:
    """Return the text of a literal, preceded by its shape.

    Raises:
        MalformedProtoError: The message is not a literal, or its values do not match its shape.
    """
    if name_type(literal.shape.element_type) == "tuple":
        parts = ", ".join(map(write_literal, literal.tuple_literals))
        return f"( {parts} )" if parts else "()"
    return f"{write_shape(literal.shape)} {_write_values(literal)}" if "shape" in literal else _write_values(literal)


def _write_values(literal: Message) -> str:
    shape = literal.shape
    kind, sizes = name_type(shape.element_type), _check_rank(shape.dimensions)
    if kind in {"token", "tuple"}:
        return "token" if kind == "token" else write_literal(literal)
    count, length = math.prod(sizes), len(literal.data)
    # A shape that is much larger than the data would make the text exhaust memory, so it is rejected.
    if min(sizes, default=0) < 0 or max(count, _count_rows(sizes)) > length * 8 + _BRACES:
        refuse(f"a literal of {length} bytes has a shape of {sizes}")
    values = _read_values(literal, kind, count)
    return ELIDED if values is None else _write_array(values, sizes, _find_strides(shape), kind)


def _count_rows(sizes: Sequence[int]) -> int:
    """Return the product of the sizes before the first 0, which bounds the number of braces in an array's text."""
    return math.prod(takewhile(lambda size: size > 0, sizes))


def _check_rank(sizes: Sequence[int]) -> Sequence[int]:
    if len(sizes) > _HIGHEST_RANK:
        refuse(f"an array has {len(sizes):,} dimensions")
    return sizes


def _find_strides(shape: Message) -> list[int]:
    """Return each dimension's stride in elements; a literal stores its values in the order of the shape's layout."""
    sizes, order = shape.dimensions, shape.layout.minor_to_major
    if sorted(order) != list(range(len(sizes))):
        # A layout that does not order all dimensions is missing or malformed; the default order is row-major.
        order = range(len(sizes) - 1, -1, -1)
    strides, step = [0] * len(sizes), 1
    for dimension in order:
        strides[dimension] = step
        step *= sizes[dimension]
    return strides


def _write_array(values: Sequence[Any], sizes: Sequence[int], strides: Sequence[int], kind: str) -> str:
    if not sizes:
        return _write_number(values[0], kind) if kind != "pred" else "true" if values[0] else "false"
    rank = len(sizes)

    def write(at: int, place: int, number: int) -> str:
        size, step = sizes[at], strides[at]
        # A dimension of size 0 makes the strides of outer dimensions 0, which `range` does not accept as a step.
        places = range(place, place + step * size, step) if step else [place] * size
        if at == rank - 1:
            inner = ", ".join(_write_number(values[place], kind) for place in places)
            return f"{{{inner}}}" if rank == 1 or size <= 1 else f"{{ {inner} }}"
        note = f" /*i{at - 1}={number}*/" if at and rank > _NOTED else ""
        rows = ", ".join(write(at + 1, place, row) for row, place in enumerate(places))
        return f"{{{note} }}" if note and not rows else f"{{{note} {rows} }}"

    return write(0, 0, 0)


def _write_number(value: Any, kind: str) -> str:  # noqa: ANN401 - a number, or the two parts of a complex one
    """Return a number as text with the digits that identify it in its type, as `RoundTripFpToString` does."""
    if kind in _PARTS:
        return f"({', '.join(_write_number(part, _PARTS[kind]) for part in value)})"
    if not isinstance(value, float):
        return str(int(value))
    if math.isnan(value):
        return _write_nan(value, kind)
    few, form = _SHORTER.get(kind, (0, ""))
    short = f"{value:.{few}g}"
    if few and _round(float(short), form) == value:
        return short
    # This number of digits distinguishes any two numbers of the type.
    match = _SMALL.match(kind)
    mantissa = int(match[2]) if match else _MANTISSAS.get(kind, 52)
    return f"{value:.{math.ceil(1 + (mantissa + 1) * math.log10(2))}g}"


def _write_nan(value: float, kind: str) -> str:
    """Return the text of a NaN, with its payload unless that is the default one."""
    bits = int.from_bytes(struct.pack(">d", value))
    width = _MANTISSAS.get(kind, 0)
    # The number is stored as a double, which has the payload in the highest bits of its mantissa.
    payload = (bits & ((1 << 52) - 1)) >> (52 - width)
    usual = not width or payload == 1 << (width - 1)
    return ("-nan" if bits >> 63 else "nan") + ("" if usual else f"(0x{payload:x})")


def _round(value: float, form: str) -> float:
    try:
        return float(struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        # The rounded decimal may exceed the largest number of the type, and then it differs from the value.
        return math.inf


def _read_values(literal: Message, kind: str, count: int) -> Sequence[Any] | None:
    """Return the values of a literal, or None if they were stripped or packed; raise an error if some are missing."""
    values: Sequence[Any] = vars(literal).get(f"{kind}s", ())
    if isinstance(values, bytes):
        values = _unpack(values, kind)
    elif kind in _PARTS:
        values = list(zip(values[::2], values[1::2], strict=False))
    elif kind in {"u32", "u64"}:
        values = [value % (1 << _bits(kind)) for value in values]
    if len(values) >= count:
        return values
    if not values or (_bits(kind) < _BYTE and len(values) * (_BYTE // _bits(kind)) >= count):
        return None
    return refuse(f"a literal of {count} {kind} holds {len(values)}")


def _bits(kind: str) -> int:
    digits = re.search(r"\d+", kind)
    return int(digits[0]) if digits else _BYTE


def _unpack(data: bytes, kind: str) -> Sequence[Any]:
    if kind in _FORMS:
        size = struct.calcsize(_FORMS[kind])
        numbers = struct.unpack(f"<{len(data) // size}{_FORMS[kind]}", data[: len(data) // size * size])
        return [_read_bfloat(number) for number in numbers] if kind == "bf16" else numbers
    if kind[0] in "su":
        half, mask = 1 << (_bits(kind) - 1), (1 << _bits(kind)) - 1
        # Flipping the sign bit and subtracting its value extends the sign.
        return [((byte & mask) ^ half) - half if kind[0] == "s" else byte & mask for byte in data]
    return [_read_small(byte, kind) for byte in data]


def _read_bfloat(bits: int) -> float:
    if ~bits & 0x7F80:
        return float(struct.unpack(">f", (bits << 16).to_bytes(4))[0])
    # A conversion by the machine would change the payload of a NaN.
    return float(struct.unpack(">d", (bits >> 15 << 63 | 0x7FF << 52 | (bits & 0x7F) << 45).to_bytes(8))[0])


def _read_small(byte: int, kind: str) -> float:
    """Return the number that a byte encodes in a type of at most eight bits."""
    # This type has only an exponent; all bits set mean NaN.
    if kind == "f8e8m0fnu":
        return math.nan if byte == _ALL_BITS else math.ldexp(1.0, byte - 127)
    match = _SMALL.fullmatch(kind) or refuse(f"a literal is of the unknown type {kind}")
    exponents, mantissas = int(match[1]), int(match[2])
    unsigned_zero = kind.endswith("uz")
    sign = -1.0 if byte >> (exponents + mantissas) & 1 else 1.0
    exponent, mantissa = byte >> mantissas & ((1 << exponents) - 1), byte & ((1 << mantissas) - 1)
    bias = 11 if match[3] else (1 << (exponents - 1)) - (0 if unsigned_zero else 1)
    if unsigned_zero:
        # Types with an unsigned zero use the code of the negative zero for their only NaN.
        if byte == 1 << (exponents + mantissas):
            return -math.nan
    elif exponent == (1 << exponents) - 1 and _bits(kind) == _BYTE:
        # Types marked `fn` have no infinities, and only a code with all of these bits set is NaN.
        if not match[4]:
            return math.copysign(math.nan, sign) if mantissa else sign * math.inf
        if mantissa == (1 << mantissas) - 1:
            return math.copysign(math.nan, sign)
    # An exponent of zero means a subnormal number, without the implicit leading one.
    if not exponent:
        return sign * math.ldexp(mantissa, 1 - bias - mantissas)
    return sign * math.ldexp(mantissa + (1 << mantissas), exponent - bias - mantissas)
