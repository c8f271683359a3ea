"""Annotated lines of HLO: each part is numbered in the line and explained in a list below it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.hlo import BITS, read_instruction
from xla_inspect.plural import plural
from xla_inspect.report import figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo import Instruction, Layout, Shape

LONGEST = 100
"""The number of characters shown of a part; for a longer part, its length is given too."""

ATTRIBUTES = {
    "kind": "the kind of fusion (kLoop, kInput, kOutput or kCustom), a hint for the code generator",
    "calls": "the computation that is the body of this fusion or asynchronous operation",
    "to_apply": "the computation that the instruction calls, once or for each pair of elements",
    "dimensions": "the dimensions that the operation works on",
    "lhs_contracting_dims": "the dimensions of the left operand that are summed over",
    "rhs_contracting_dims": "the dimensions of the right operand that are summed over, in the left operand's order",
    "lhs_batch_dims": "the batch dimensions of the left operand, which are paired with those of the right one",
    "rhs_batch_dims": "the batch dimensions of the right operand, in the left operand's order",
    "dim_labels": "the role of each dimension: b batch, f feature, 0, 1, ... spatial, i input and o output of a kernel",
    "direction": "the comparison, such as LT for less than",
    "cross_program_prefetch_index": "the number of a prefetch that may start while the previous program still runs",
    "frontend_attributes": "named notes that a framework or a pass added for a later pass",
    "metadata": "the place in the Python code that the instruction comes from",
    "backend_config": "settings for this target's code generator, usually JSON",
}
"""The meaning of each attribute, by its name."""

_ELEMENTS = {"f": "floating point", "bf": "brain floating point", "s": "signed integer", "u": "unsigned integer"}
_ODD = {
    "pred": "truth value, one byte per element",
    "token": "no data, only an order of events",
    "opaque": "data that XLA cannot look into",
}
_MEMORIES = {
    1: "VMEM, the TPU's on-chip vector memory",
    2: "the TPU's memory for semaphores",
    4: "SMEM, the TPU's memory for scalars",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line.

    Attributes:
        text: The part as written.
        name: The name of this kind of part, or an empty string for the punctuation between parts.
        meaning: The explanation of the part.
        role: The class that gives its colour: `name`, `type`, `call` or `attribute`.
    """

    text: str
    name: str = ""
    meaning: str = ""
    role: str = ""


def annotate_instruction(line: str) -> str:
    """Return a line of HLO as an annotated figure, HTML.

    Raises:
        HloSyntaxError: The line holds no instruction.
    """
    return draw_parts(split_line(line), "An instruction and its parts")


def annotate_shape(shape: Shape) -> str:
    """Return the shape of an array as an annotated figure, HTML."""
    return draw_parts(split_shape(shape), "A shape and its parts")


def split_line(line: str) -> tuple[Part, ...]:
    """Return the parts of a line of HLO, punctuation included: their texts together are the line, stripped.

    Raises:
        HloSyntaxError: The line holds no instruction.
    """
    text = line.strip()
    return tuple(_join(text, _parts(text, read_instruction(text, 1, ""))))


def _parts(text: str, instruction: Instruction) -> Iterator[Part]:
    if instruction.is_root:
        yield Part("ROOT", "root", "this value is the computation's result", "call")
    # HLO text is printed with or without `%` before names, and a part must match the line exactly.
    spelling = f"%{instruction.name}" if f"%{instruction.name} = " in text else instruction.name
    yield Part(spelling, "name", "the name by which other lines use the result; only this line defines it", "name")
    yield Part(instruction.shape.text, "shape", "the type of the result and its layout in memory", "type")
    # The shape may contain parentheses itself, in a tuple or in a tile such as `T(8,128)`, so the search starts after
    # it.
    start = text.index(instruction.shape.text) + len(instruction.shape.text)
    opening = text.index("(", start)
    yield Part(text[start:opening].strip(), "opcode", "the operation", "call")
    # A literal may contain parentheses, so the end is computed from the length of the attributes instead of searched.
    inside = text[opening + 1 : len(text) - len(instruction.attribute_text) - 1]
    if instruction.literal is None and inside:
        yield Part(inside, "operands", "the names of the input values, in order", "name")
    elif inside:
        meaning = "the number of the argument, from 0" if instruction.opcode == "parameter" else "the constant's value"
        yield Part(inside, "number" if instruction.opcode == "parameter" else "literal", meaning, "name")
    for key, value in instruction.attributes.items():
        yield Part(f"{key}={value}", key, ATTRIBUTES.get(key, f"an attribute of {instruction.opcode}"), "attribute")


def split_shape(shape: Shape) -> tuple[Part, ...]:
    """Return the parts of an array's shape, punctuation included: their texts together are the shape as written."""
    sizes = shape.text[len(shape.dtype) : shape.text.index("]") + 1]
    counts = f"{plural(shape.rank, 'dimension')}, {plural(shape.size, 'element')}"
    parts = [
        Part(shape.dtype, "element type", _element(shape.dtype), "type"),
        Part(sizes, "dimensions", counts if shape.rank else "none: a scalar", "name"),
        *(_layout(shape.layout) if shape.layout else ()),
    ]
    return tuple(_join(shape.text, parts))


def _layout(layout: Layout) -> Iterator[Part]:
    order = [str(number) for number in layout.minor_to_major]
    if order:
        then = f", then {', '.join(order[1:])}" if order[1:] else ""
        meaning = f"minor to major: elements along dimension {order[0]} are adjacent in memory{then}"
        yield Part(",".join(order), "order", meaning, "call")
    for letter, text in layout.fields:
        if letter == "T":
            sizes = ", then ".join(" x ".join(str(size) for size in tile) for tile in layout.tiles)
            yield Part(letter + text, "tiles", f"the array is stored in tiles of {sizes}", "attribute")
        elif letter == "S":
            space = layout.memory_space
            where = f"memory space {space}" + (f": {_MEMORIES[space]}" if space in _MEMORIES else "")
            yield Part(letter + text, "memory", where, "attribute")
        else:
            yield Part(letter + text, f"field {letter}", "another field of the layout", "attribute")


def _element(dtype: str) -> str:
    # Types such as `f8e4m3fn` are not in the table, so only their number of bits is given.
    kind = _ELEMENTS.get(dtype.rstrip("0123456789"))
    return _ODD.get(dtype, f"{kind}, {BITS[dtype]} bits" if kind else f"{BITS.get(dtype, 0)} bits")


def _join(text: str, parts: Sequence[Part] | Iterator[Part]) -> Iterator[Part]:
    """Yield the parts in the order of the text, and the punctuation between them."""
    position = 0
    for part in parts:
        # The text of a part may also occur in an earlier part, so the search starts after the previous one.
        start = text.index(part.text, position)
        if start > position:
            yield Part(text[position:start])
        yield part
        position = start + len(part.text)
    if position < len(text):
        yield Part(text[position:])


def draw_parts(parts: Sequence[Part], label: str) -> str:
    """Return a line as an annotated figure, HTML: its parts are numbered, and a list below explains them.

    Parts with the same name and meaning share one number and one entry of the list.

    Args:
        parts: The parts, including the text between them.
        label: A description of the line for screen readers, plain text.
    """
    entries: dict[tuple[str, str], Part] = {}
    for part in parts:
        # The punctuation between parts has no name, so it gets no number.
        if part.name:
            entries.setdefault((part.name, part.meaning), part)
    numbers = {key: number for number, key in enumerate(entries, start=1)}
    pieces = []
    for part in parts:
        if not part.name:
            pieces.append(html.escape(part.text))
            continue
        text = part.text if len(part.text) <= LONGEST else part.text[:LONGEST] + "…"
        number = numbers[part.name, part.meaning]
        pieces.append(f'<span class="{part.role}">{html.escape(text)}<sup>{number}</sup></span>')
    items = []
    for part in entries.values():
        length = f" ({len(part.text):,} characters)" if len(part.text) > LONGEST else ""
        meaning = html.escape(part.meaning) + length
        items.append(f'<li class="{part.role}"><b>{html.escape(part.name)}</b> {meaning}</li>')
    body = f'<p class="line"><code>{"".join(pieces)}</code></p><ol>{"".join(items)}</ol>'
    return figure("anatomy", body, label=label)
