"""A line of HLO taken apart: each part numbered in the line, and named in a list under it."""

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
"""Characters of a part that are shown; the rest of a longer one is counted."""

ATTRIBUTES = {
    "kind": "the kind of fusion, kLoop, kInput, kOutput or kCustom: a hint for the code generator",
    "calls": "the computation that is its body",
    "to_apply": "the computation that it calls: for each pair of elements, or once",
    "dimensions": "the dimensions that it works on",
    "lhs_contracting_dims": "the dimensions of the left operand that are summed over",
    "rhs_contracting_dims": "the dimensions of the right operand that are summed over, in the order of the left one's",
    "lhs_batch_dims": "the dimensions of the left operand that are only paired, not summed",
    "rhs_batch_dims": "the dimensions of the right operand that are only paired, in the order of the left one's",
    "dim_labels": "the role of each dimension: batch b, feature f, spatial 0, 1, ..., a kernel's input i and output o",
    "direction": "which comparison",
    "cross_program_prefetch_index": "the number of a prefetch that may begin while the program before still runs",
    "frontend_attributes": "notes by name, which a framework or a pass left for a later pass",
    "metadata": "where in the Python it comes from",
    "backend_config": "settings for this target's code generator, usually JSON",
}
"""What each attribute says, by its name."""

_ELEMENTS = {"f": "floating point", "bf": "brain floating point", "s": "signed integer", "u": "unsigned integer"}
_ODD = {
    "pred": "truth value, a byte each",
    "token": "no data: an order of events",
    "opaque": "something XLA cannot see",
}
_MEMORIES = {
    1: "VMEM, a TPU's memory on the chip",
    2: "a TPU's memory for semaphores",
    4: "SMEM, a TPU's memory for scalars",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line.

    Attributes:
        text: The part as written.
        name: What such a part is called, or an empty string for the punctuation between parts.
        meaning: What it says.
        role: A word for its colour: `name`, `type`, `call` or `attribute`.
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
    written = f"%{instruction.name}" if f"%{instruction.name} = " in text else instruction.name
    yield Part(written, "name", "the name by which other lines use the result; only this line defines it", "name")
    yield Part(instruction.shape.text, "shape", "the type of the result, and how it lies in memory", "type")
    start = text.index(instruction.shape.text) + len(instruction.shape.text)
    opening = text.index("(", start)
    yield Part(text[start:opening].strip(), "opcode", "the operation", "call")
    inside = text[opening + 1 : len(text) - len(instruction.attribute_text) - 1]
    if instruction.literal is None and inside:
        yield Part(inside, "operands", "the values it takes, by name, in order", "name")
    elif inside:
        meaning = "which argument of the computation" if instruction.opcode == "parameter" else "its value"
        yield Part(inside, "number" if instruction.opcode == "parameter" else "literal", meaning, "name")
    for key, value in instruction.attributes.items():
        yield Part(f"{key}={value}", key, ATTRIBUTES.get(key, f"an attribute of {instruction.opcode}"), "attribute")


def split_shape(shape: Shape) -> tuple[Part, ...]:
    """Return the parts of an array's shape, punctuation included: their texts together are the shape as written."""
    sizes = shape.text[len(shape.dtype) : shape.text.index("]") + 1]
    counted = f"{plural(shape.rank, 'dimension')}, {plural(shape.size, 'element')}"
    parts = [
        Part(shape.dtype, "element type", _element(shape.dtype), "type"),
        Part(sizes, "dimensions", counted if shape.rank else "none: a scalar", "name"),
        *(_layout(shape.layout) if shape.layout else ()),
    ]
    return tuple(_join(shape.text, parts))


def _layout(layout: Layout) -> Iterator[Part]:
    order = [str(number) for number in layout.minor_to_major]
    if order:
        then = f", then {', '.join(order[1:])}" if order[1:] else ""
        meaning = f"from minor to major: along dimension {order[0]} elements are neighbours in memory{then}"
        yield Part(",".join(order), "order", meaning, "call")
    for letter, text in layout.fields:
        if letter == "T":
            sizes = ", then ".join(" x ".join(str(size) for size in tile) for tile in layout.tiles)
            yield Part(letter + text, "tiles", f"stored tile after tile, each of {sizes}", "attribute")
        elif letter == "S":
            space = layout.memory_space
            where = f"space {space}" + (f": {_MEMORIES[space]}" if space in _MEMORIES else "")
            yield Part(letter + text, "memory", where, "attribute")
        else:
            yield Part(letter + text, f"field {letter}", "another field of the layout", "attribute")


def _element(dtype: str) -> str:
    kind = _ELEMENTS.get(dtype.rstrip("0123456789"))
    return _ODD.get(dtype, f"{kind}, {BITS[dtype]} bits" if kind else f"{BITS.get(dtype, 0)} bits")


def _join(text: str, parts: Sequence[Part] | Iterator[Part]) -> Iterator[Part]:
    """Yield the parts, each where it stands in the text after the one before, and the punctuation between them."""
    position = 0
    for part in parts:
        start = text.index(part.text, position)
        if start > position:
            yield Part(text[position:start])
        yield part
        position = start + len(part.text)
    if position < len(text):
        yield Part(text[position:])


def draw_parts(parts: Sequence[Part], label: str) -> str:
    """Return a line as an annotated figure, HTML: its parts numbered, and named in a list under it.

    Parts of the same name and meaning have one number, and one entry of the list.

    Args:
        parts: The parts, what stands between them included.
        label: What the line is, plain text, for those who cannot see it.
    """
    named: dict[tuple[str, str], Part] = {}
    for part in parts:
        if part.name:
            named.setdefault((part.name, part.meaning), part)
    numbers = {key: number for number, key in enumerate(named, start=1)}
    pieces = []
    for part in parts:
        if not part.name:
            pieces.append(html.escape(part.text))
            continue
        text = part.text if len(part.text) <= LONGEST else part.text[:LONGEST] + "…"
        number = numbers[part.name, part.meaning]
        pieces.append(f'<span class="{part.role}">{html.escape(text)}<sup>{number}</sup></span>')
    items = []
    for part in named.values():
        length = f" ({len(part.text):,} characters)" if len(part.text) > LONGEST else ""
        meaning = html.escape(part.meaning) + length
        items.append(f'<li class="{part.role}"><b>{html.escape(part.name)}</b> {meaning}</li>')
    body = f'<p class="line"><code>{"".join(pieces)}</code></p><ol>{"".join(items)}</ol>'
    return figure("anatomy", body, label=label)
