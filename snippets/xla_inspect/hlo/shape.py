"""Shapes in HLO text, such as `f32[64,128]{1,0:T(8,128)S(1)}`, tuples and tokens, and their sizes in bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from xla_inspect.errors import HloSyntaxError

BITS = {
    "token": 0,
    "opaque": 0,
    "pred": 8,
    "bf16": 16,
    "c64": 64,
    "c128": 128,
    **{f"{kind}{bits}": bits for kind in "su" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"f{bits}": bits for bits in (16, 32, 64)},
    **{f"f8{form}": 8 for form in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
    "f4e2m1fn": 4,
    "f6e2m3fn": 6,
    "f6e3m2fn": 6,
}
"""The bits of one element by the name of its type, from xla/primitive_util.h; 0 for types without storage."""
# The number of a TPU's semaphore memory in `jax._src.tpu_custom_call.MemorySpace`; its buffers are not tiled.
SEMAPHORE_MEMORY = 2
# The parser recurses once per level, so it rejects deeper nesting.
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of an array in memory (`Layout::Print` in xla/layout.cc).

    Attributes:
        minor_to_major: The dimension numbers, fastest varying first.
        tiles: The tile sizes, outermost tiling first; -1 for `*`, which combines a dimension with the next one.
        memory_space: The memory space: 0 is the default (HBM); on a TPU, 1 is VMEM, 2 holds semaphores, and 4 is SMEM.
        element_bits: The bits of one stored element, or 0 for the size of the type.
        fields: All fields after the colon, as pairs of a letter and its text: `(("T", "(8,128)"), ("S", "(1)"))`.
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...] = ()
    memory_space: int = 0
    element_bits: int = 0
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a value: an array, a tuple, a token, an opaque value or a buffer.

    Attributes:
        text: The shape as written.
        dtype: The element type, such as `bf16`, or `token`, `opaque`, `tuple` or `buffer`.
        dimensions: The sizes; the bound of a bounded dynamic dimension, -1 for an unbounded one.
        dynamic: For each dimension, whether it is dynamic (`<=` or `?`).
        layout: The layout, or None if the text has none.
        elements: The shapes of the elements of a tuple or buffer.
    """

    text: str
    dtype: str
    dimensions: tuple[int, ...] = ()
    dynamic: tuple[bool, ...] = ()
    layout: Layout | None = None
    elements: tuple[Shape, ...] = ()

    def __str__(self) -> str:
        """Return the shape as written."""
        return self.text

    @property
    def is_tuple(self) -> bool:
        """True if the shape is a tuple."""
        return self.dtype == "tuple"

    @property
    def is_array(self) -> bool:
        """True if the shape is an array of numbers, including scalars."""
        return BITS.get(self.dtype, 0) > 0

    @property
    def rank(self) -> int:
        """The number of dimensions; 0 for scalars and for shapes that are not arrays."""
        return len(self.dimensions)

    @property
    def size(self) -> int:
        """The number of array elements, summed over a tuple; a dynamic dimension counts as its bound, or 0 without."""
        if self.elements:
            return sum(element.size for element in self.elements)
        return math.prod(max(size, 0) for size in self.dimensions) if self.is_array else 0

    @property
    def bytes(self) -> int:
        """The bytes of all elements, without tile padding and without a tuple's own pointers.

        An element of less than one byte counts as a whole byte unless the layout packs it with `E(bits)`, as in
        `ShapeUtil::ByteSizeOfElements`.
        """
        if self.elements:
            return sum(element.bytes for element in self.elements)
        bits = BITS.get(self.dtype, 0)
        if self.layout is not None and self.layout.element_bits:
            return -(-self.size * self.layout.element_bits // 8)
        return self.size * -(-bits // 8)

    @property
    def padded_bytes(self) -> int:
        """The bytes of the array with its dimensions rounded up to the first tile, as in a TPU's buffer.

        For a tuple, this is the sum over its elements. Without tiles, and in a TPU's semaphore memory (space 2), it
        equals `bytes`. Dimensions that a tile combines (`*`) are not rounded.
        """
        if self.elements:
            return sum(element.padded_bytes for element in self.elements)
        layout = self.layout
        if layout is None or not layout.tiles or layout.memory_space == SEMAPHORE_MEMORY or not self.is_array:
            return self.bytes
        tile = layout.tiles[0]
        sizes = [self.dimensions[number] for number in reversed(layout.minor_to_major)]
        # A tile may have more dimensions than the array, which is then padded with leading dimensions of size 1.
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        start = len(sizes) - len(tile)
        padded = sizes[:start] + [
            -(-size // step) * step if step > 0 else size for size, step in zip(sizes[start:], tile, strict=True)
        ]
        return -(-math.prod(padded) * (layout.element_bits or BITS[self.dtype]) // 8)

    @property
    def plain(self) -> str:
        """The text of the shape without layouts, as computation signatures print it."""
        if self.dtype == "tuple":
            return f"({', '.join(element.plain for element in self.elements)})"
        if self.dtype == "buffer":
            return f"b({self.elements[0].plain})"
        sizes = (
            ("?" if n < 0 else f"<={n}") if d else str(n) for n, d in zip(self.dimensions, self.dynamic, strict=True)
        )
        return f"{self.dtype}[{','.join(sizes)}]"

    def leaves(self) -> list[Shape]:
        """Return the shapes inside a tuple and its nested tuples, in order; for any other shape, only itself."""
        if not self.is_tuple:
            return [self]
        return [leaf for element in self.elements for leaf in element.leaves()]

    def at(self, index: tuple[int, ...]) -> Shape:
        """Return the shape at an index into nested tuples; raise an IndexError if there is none."""
        shape = self
        for number in index:
            shape = shape.elements[number]
        return shape


class ShapeProblemError(ValueError):
    """An error in a shape with its offset in the text, which callers convert into an `HloSyntaxError`."""

    def __init__(self, message: str, offset: int) -> None:
        """Store the offset with the message."""
        super().__init__(message)
        self.message = message
        self.offset = offset


_SKIP = re.compile(r"(?:\s++|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_ARRAY = re.compile(r"([a-z][a-z0-9]*+)\[([^\[\]{}()]*+)\](?:\{((?:[^{}]++|\{[^{}]*+\})*+)\})?+", re.ASCII)
_DIMENSION = re.compile(r"(?:(<=)?([0-9]{1,19})|\?)", re.ASCII)
_NUMBERS = re.compile(r"[0-9]{1,9}(?:,[0-9]{1,9})*+", re.ASCII)
_PAREN = r"\((?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+\)"
_FIELD = re.compile(rf"(T|L|#|\*|E|S|SC|P|M|D)((?:{_PAREN})++)", re.ASCII)
_TILE = re.compile(r"\(((?:\*|[0-9]{1,9})(?:,(?:\*|[0-9]{1,9}))*+)?+\)", re.ASCII)
_NUMBER = re.compile(r"\(([0-9]{1,9})\)", re.ASCII)


def parse_shape(text: str) -> Shape:
    """Parse one shape, such as `f32[8,<=16]{1,0:T(8,128)}` or `(s32[], token[])`.

    Raises:
        HloSyntaxError: The text is not a shape; the position counts from line 1, column 1.
    """
    try:
        return read_shape(text)
    except ShapeProblemError as problem:
        before = text[: problem.offset]
        line = before.count("\n") + 1
        raise HloSyntaxError(problem.message, line, problem.offset - (before.rfind("\n") + 1) + 1) from None


# The same shapes occur on most lines of a module and again after each pass, so parsed shapes are cached.
@lru_cache(maxsize=1 << 14)
def read_shape(text: str) -> Shape:
    """Parse a text that is one shape and nothing else, and cache the result.

    Raises:
        ShapeProblemError: The text is not a shape.
    """
    shape, position = shape_at(text, 0)
    if position != len(text):
        message = f"expected the shape to end here, found {text[position : position + 20]!r}"
        raise ShapeProblemError(message, position)
    return shape


def shape_at(text: str, position: int, depth: int = 0) -> tuple[Shape, int]:
    """Parse the shape that starts at a position, and return it and the position after it.

    Raises:
        ShapeProblemError: No shape starts there.
    """
    if text.startswith("(", position):
        return _tuple_at(text, position, depth)
    if text.startswith("b(", position):
        element, end = shape_at(text, position + 2, _deeper(depth, position))
        if not text.startswith(")", end):
            message = "expected ')' after the shape of a buffer"
            raise ShapeProblemError(message, end)
        return Shape(text[position : end + 1], "buffer", elements=(element,)), end + 1
    match = _ARRAY.match(text, position)
    if match is None:
        message = f"expected a shape, found {text[position : position + 20]!r}"
        raise ShapeProblemError(message, position)
    dtype, sizes, layout = match.groups()
    if dtype not in BITS:
        message = f"unknown element type {dtype!r}"
        raise ShapeProblemError(message, position)
    dimensions, dynamic = _dimensions(sizes, match.start(2))
    return (
        Shape(match.group(), dtype, dimensions, dynamic, _layout(layout, match.start(3), len(dimensions))),
        match.end(),
    )


def _deeper(depth: int, position: int) -> int:
    if depth >= MAX_DEPTH:
        message = f"shapes nest deeper than {MAX_DEPTH} levels"
        raise ShapeProblemError(message, position)
    return depth + 1


def _tuple_at(text: str, start: int, depth: int) -> tuple[Shape, int]:
    deeper = _deeper(depth, start)
    elements: list[Shape] = []
    position = _skip(text, start + 1)
    while not text.startswith(")", position):
        if elements:
            if not text.startswith(",", position):
                message = "expected ',' or ')' in a tuple shape"
                raise ShapeProblemError(message, position)
            position = _skip(text, position + 1)
        element, position = shape_at(text, position, deeper)
        elements.append(element)
        position = _skip(text, position)
    return Shape(text[start : position + 1], "tuple", elements=tuple(elements)), position + 1


def _skip(text: str, position: int) -> int:
    match = _SKIP.match(text, position)
    return match.end() if match else position


def _dimensions(text: str, offset: int) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    if not text:
        return (), ()
    sizes, dynamic = [], []
    for part in text.split(","):
        match = _DIMENSION.fullmatch(part)
        if match is None:
            message = f"expected the size of a dimension, found {part!r}"
            raise ShapeProblemError(message, offset)
        sizes.append(int(match.group(2)) if match.group(2) else -1)
        dynamic.append(part[0] in "<?")
        offset += len(part) + 1
    return tuple(sizes), tuple(dynamic)


def _layout(text: str | None, offset: int, rank: int) -> Layout | None:
    if text is None:
        return None
    order, colon, rest = text.partition(":")
    if order and not _NUMBERS.fullmatch(order):
        message = f"expected dimension numbers in a layout, found {order!r}"
        raise ShapeProblemError(message, offset)
    minor_to_major = tuple(int(number) for number in order.split(",")) if order else ()
    if sorted(minor_to_major) != list(range(rank)):
        message = f"the layout {{{order}}} does not order {rank} dimensions"
        raise ShapeProblemError(message, offset)
    fields: list[tuple[str, str]] = []
    position = 0
    # A colon without a field after it is an error, so the loop runs at least once after a colon.
    while position < len(rest) or (colon and not fields):
        match = _FIELD.match(rest, position)
        if match is None:
            message = f"unknown field of a layout: {rest[position : position + 20]!r}"
            raise ShapeProblemError(message, offset + len(order) + 1 + position)
        fields.append((match.group(1), match.group(2)))
        position = match.end()
    by_letter = dict(fields)
    where = offset + len(order) + 1
    return Layout(
        minor_to_major,
        _tiles(by_letter["T"], where) if "T" in by_letter else (),
        _number(by_letter.get("S"), where),
        _number(by_letter.get("E"), where),
        tuple(fields),
    )


def _tiles(text: str, offset: int) -> tuple[tuple[int, ...], ...]:
    tiles = []
    position = 0
    while position < len(text):
        match = _TILE.match(text, position)
        if match is None:
            message = f"expected a tile such as (8,128), found {text[position : position + 20]!r}"
            raise ShapeProblemError(message, offset)
        sizes = match.group(1).split(",") if match.group(1) else []
        tiles.append(tuple(-1 if size == "*" else int(size) for size in sizes))
        position = match.end()
    return tuple(tiles)


def _number(text: str | None, offset: int) -> int:
    if text is None:
        return 0
    match = _NUMBER.fullmatch(text)
    if match is None:
        message = f"expected a number in parentheses, found {text!r}"
        raise ShapeProblemError(message, offset)
    return int(match.group(1))
