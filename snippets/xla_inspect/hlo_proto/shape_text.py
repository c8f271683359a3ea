"""The text of shapes as XLA writes them: `f32[64,<=128]{1,0:T(8,128)S(1)}` (xla/shape_util.cc, xla/layout.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo_proto.dimension_text import join_numbers
from xla_inspect.hlo_proto.field_text import form_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.hlo_proto.message import Message

# This size means "unknown" for a dimension, and "combined with the next dimension" for a tile.
_MARK = -(1 << 63)
_INTERVAL = 5


@form_of("ShapeProto")
def write_shape(shape: Message, *, layouts: bool = True) -> str:
    """Return the text of a `ShapeProto`, with or without layouts."""
    kind = name_type(shape.element_type)
    if kind in {"tuple", "buffer"}:
        parts = [write_shape(part, layouts=layouts) for part in shape.tuple_shapes]
        return f"({number_items(parts)})" if kind == "tuple" else f"b({''.join(parts[:1])})"
    sizes = shape.dimensions
    text = join_numbers(sizes)
    if any(shape.is_dynamic_dimension):
        # The list of dynamic dimensions may be shorter than the dimensions, so it is padded.
        marks = [*shape.is_dynamic_dimension, *[0] * len(sizes)]
        bounds = ("?" if size == _MARK else f"<={size}" for size in sizes)
        rows = zip(sizes, bounds, marks, strict=False)
        text = ",".join(bound if is_dynamic else str(size) for size, bound, is_dynamic in rows)
    layout = _write_layout(shape.layout) if layouts and "layout" in shape else ""
    # XLA prints no layout for a scalar, which has no dimensions to order.
    return f"{kind}[{text}]{'' if layout == '{}' and not sizes else layout}"


def number_items(items: Iterable[str]) -> str:
    """Return items joined by commas, with a comment like `/*index=5*/` before every fifth, as XLA writes lists."""
    return "".join(
        item if not number else f", {item}" if number % _INTERVAL else f", /*index={number}*/{item}"
        for number, item in enumerate(items)
    )


def name_type(name: str) -> str:
    """Return the name in HLO text of an element type: `f32` for the enumeration's `F32`, `opaque` for `OPAQUE_TYPE`."""
    return name.removesuffix("_TYPE").lower()


def _write_layout(layout: Message) -> str:
    padding = layout.tail_padding_alignment_in_elements
    marks: dict[str, list[str] | int | str] = {
        "T": [",".join("*" if size == _MARK else str(size) for size in tile.dimensions) for tile in layout.tiles],
        # An alignment of 1 is the default, which XLA does not print.
        "L": padding if padding != 1 else 0,
        "#": name_type(layout.index_primitive_type) if "index_primitive_type" in layout else "",
        "*": name_type(layout.pointer_primitive_type) if "pointer_primitive_type" in layout else "",
        "E": layout.element_size_in_bits,
        "S": layout.memory_space,
        "SC": [f"{split.dimension}:{join_numbers(split.split_indices)}" for split in layout.split_configs],
        "P": write_shape(layout.physical_shape) if "physical_shape" in layout else "",
        "M": layout.dynamic_shape_metadata_prefix_bytes,
    }
    text = "".join(
        f"{letter}({')('.join(value) if isinstance(value, list) else value})"
        for letter, value in marks.items()
        if value
    )
    return f"{{{join_numbers(layout.minor_to_major)}{':' if text else ''}{text}}}"


@form_of("ProgramShapeProto")
def write_program(shape: Message) -> str:
    """Return the text of the shapes of a program's parameters and result."""
    return f"{{({number_items(map(write_shape, shape.parameters))})->{write_shape(shape.result)}}}"


@form_of("constraints")
def write_constraints(instruction: Message) -> str:
    """Return the text of the layouts that a custom call requires of its operands, or an empty string."""
    shapes = map(write_shape, instruction.operand_shapes_with_layout)
    return f"{{{', '.join(shapes)}}}" if instruction.constrain_layout else ""
