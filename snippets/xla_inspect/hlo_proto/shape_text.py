"""Shapes as XLA writes them: `f32[64,<=128]{1,0:T(8,128)S(1)}`, tuples, tokens (xla/shape_util.cc, xla/layout.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo_proto.schema import DEEPEST, MalformedProtoError, decode, name_value

if TYPE_CHECKING:
    from collections.abc import Iterable

# Sizes that stand for "unknown" (of a dimension) and for "together with the next" (of a tile).
_MARK = -(1 << 63)
_INTERVAL = 5
_NAMES = {"OPAQUE_TYPE": "opaque"}


def write_shape(data: bytes, *, layouts: bool = True, depth: int = 0) -> str:
    """Return the text of a `ShapeProto`, with its layouts or without.

    Raises:
        MalformedProtoError: It is no such message, or nests too deeply.
    """
    if depth >= DEEPEST:
        message = f"shapes nest deeper than {DEEPEST} levels"
        raise MalformedProtoError(message)
    shape = decode("ShapeProto", data)
    kind = name_type(shape.get("element_type", 0))
    if kind == "tuple":
        inner = (write_shape(part, layouts=layouts, depth=depth + 1) for part in shape.get("tuple_shapes", ()))
        return f"({number_items(inner)})"
    if kind == "buffer":
        parts = shape.get("tuple_shapes", ())
        return f"b({''.join(write_shape(part, layouts=layouts, depth=depth + 1) for part in parts[:1])})"
    sizes, dynamic = shape.get("dimensions", ()), shape.get("is_dynamic_dimension", ())
    if any(dynamic):
        marks = [*dynamic, *[0] * len(sizes)]
        text = ",".join(_write_size(size, mark) for size, mark in zip(sizes, marks, strict=False))
    else:
        text = ",".join(map(str, sizes))
    layout = _write_layout(shape["layout"], depth) if layouts and "layout" in shape else ""
    return f"{kind}[{text}]{'' if layout == '{}' and not sizes else layout}"


def number_items(items: Iterable[str]) -> str:
    """Return items in a row, every fifth with its number, as XLA writes long rows."""
    return "".join(
        item if not number else f", {item}" if number % _INTERVAL else f", /*index={number}*/{item}"
        for number, item in enumerate(items)
    )


def name_type(number: int) -> str:
    """Return how text names a type of elements, by its number."""
    name = name_value("PrimitiveType", number)
    return _NAMES.get(name) or name.lower()


def _write_size(size: int, mark: int) -> str:
    return str(size) if not mark else "?" if size == _MARK else f"<={size}"


def _write_layout(data: bytes, depth: int) -> str:
    layout = decode("LayoutProto", data)
    fields = "".join(_write_fields(layout, depth))
    order = ",".join(map(str, layout.get("minor_to_major", ())))
    return f"{{{order}{':' if fields else ''}{fields}}}"


def _write_fields(layout: dict[str, Any], depth: int) -> Iterable[str]:
    if tiles := layout.get("tiles"):
        yield f"T{''.join(map(_write_tile, tiles))}"
    if (padding := layout.get("tail_padding_alignment_in_elements", 1)) not in {0, 1}:
        yield f"L({padding})"
    for field, letter in (("index_primitive_type", "#"), ("pointer_primitive_type", "*")):
        if number := layout.get(field, 0):
            yield f"{letter}({name_type(number)})"
    if bits := layout.get("element_size_in_bits", 0):
        yield f"E({bits})"
    if space := layout.get("memory_space", 0):
        yield f"S({space})"
    if splits := layout.get("split_configs"):
        yield f"SC{''.join(map(_write_split, splits))}"
    if "physical_shape" in layout:
        yield f"P({write_shape(layout['physical_shape'], depth=depth + 1)})"
    if prefix := layout.get("dynamic_shape_metadata_prefix_bytes", 0):
        yield f"M({prefix})"


def _write_tile(data: bytes) -> str:
    sizes = decode("TileProto", data).get("dimensions", ())
    return f"({','.join('*' if size == _MARK else str(size) for size in sizes)})"


def _write_split(data: bytes) -> str:
    split = decode("SplitConfigProto", data)
    return f"({split.get('dimension', 0)}:{','.join(map(str, split.get('split_indices', ())))})"
