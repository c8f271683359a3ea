"""The order of an array's elements in memory, as HLO operations between the array and its flat buffer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from xla_inspect.evaluation.plain_lines import join

if TYPE_CHECKING:
    from xla_inspect.evaluation.plain_lines import PlainLines
    from xla_inspect.hlo import Shape


@dataclass(frozen=True)
class PhysicalOrder:
    """The order of an array's elements in memory.

    Attributes:
        dimensions: The sizes of the array.
        order: The dimensions, slowest varying first.
        padded: The sizes in this order, rounded up to the tiles.
        split: The sizes in this order, with those that tiles divide in several parts.
        permutation: The order of these parts in memory.
    """

    dimensions: tuple[int, ...]
    order: tuple[int, ...]
    padded: tuple[int, ...]
    split: tuple[int, ...]
    permutation: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements in memory, padding included."""
        return math.prod(self.padded)

    @property
    def is_plain(self) -> bool:
        """True if the elements lie in the order of the dimensions, without padding."""
        parts = [number for number in self.permutation if self.split[number] > 1]
        sizes = tuple(self.dimensions[number] for number in self.order)
        order = [number for number in self.order if self.dimensions[number] > 1]
        return order == sorted(order) and parts == sorted(parts) and self.padded == sizes


def find_order(shape: Shape) -> PhysicalOrder | None:
    """Return the order of an array in memory, or None if its tiles combine dimensions."""
    layout = shape.layout
    order = tuple(reversed(layout.minor_to_major)) if layout else tuple(range(shape.rank))
    padded = [shape.dimensions[number] for number in order]
    # The parts of each dimension, and where each part lies in memory: first all parts in order.
    parts = [[number] for number in padded]
    places = [(number, 0) for number in range(len(padded))]
    for tile in layout.tiles if layout else ():
        if len(tile) > len(places) or any(step <= 0 for step in tile):
            return None
        inner = []
        for at, step in zip(range(len(places) - len(tile), len(places)), tile, strict=True):
            dimension, part = places[at]
            size = parts[dimension][part]
            if size % step:
                # Only the first tiling pads, because each later one divides the tiles of the one before.
                if len(parts[dimension]) > 1:
                    return None
                size = -(-size // step) * step
                padded[dimension] = size
            parts[dimension][part : part + 1] = [size // step, step]
            places = [(one, index + (one == dimension and index > part)) for one, index in places]
            inner.append((dimension, part + 1))
        places += inner
    starts = [sum(map(len, parts[:number])) for number in range(len(parts))]
    permutation = tuple(starts[dimension] + part for dimension, part in places)
    return PhysicalOrder(shape.dimensions, order, tuple(padded), tuple(chain.from_iterable(parts)), permutation)


def flatten(order: PhysicalOrder, dtype: str, name: str, lines: PlainLines) -> str:
    """Add the operations from an array to its flat buffer, and return the buffer's name; names begin with `%`."""
    sizes = tuple(order.dimensions[number] for number in order.order)
    value = lines.add(f"{dtype}[{join(sizes)}]", f"transpose({name}), dimensions={{{join(order.order)}}}")
    if sizes != order.padded:
        edges = "x".join(f"0_{large - size}" for size, large in zip(sizes, order.padded, strict=True))
        value = lines.add(f"{dtype}[{join(order.padded)}]", f"pad({value}, {lines.fill(dtype, '[]')}), padding={edges}")
    value = lines.add(f"{dtype}[{join(order.split)}]", f"reshape({value})")
    parts = join(order.split[number] for number in order.permutation)
    value = lines.add(f"{dtype}[{parts}]", f"transpose({value}), dimensions={{{join(order.permutation)}}}")
    return lines.add(f"{dtype}[{order.size}]", f"reshape({value})")


def unflatten(order: PhysicalOrder, dtype: str, name: str, lines: PlainLines) -> str:
    """Add the operations from a flat buffer to its array, and return the last; the arguments are those of `flatten`."""
    parts = join(order.split[number] for number in order.permutation)
    value = lines.add(f"{dtype}[{parts}]", f"reshape({name})")
    backward = join(_invert(order.permutation))
    value = lines.add(f"{dtype}[{join(order.split)}]", f"transpose({value}), dimensions={{{backward}}}")
    value = lines.add(f"{dtype}[{join(order.padded)}]", f"reshape({value})")
    sizes = tuple(order.dimensions[number] for number in order.order)
    if sizes != order.padded:
        ranges = ", ".join(f"[0:{size}]" for size in sizes)
        value = lines.add(f"{dtype}[{join(sizes)}]", f"slice({value}), slice={{{ranges}}}")
    return f"transpose({value}), dimensions={{{join(_invert(order.order))}}}"


def _invert(permutation: tuple[int, ...]) -> list[int]:
    return sorted(range(len(permutation)), key=permutation.__getitem__)
