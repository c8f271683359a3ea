"""Parsers of the `window` attribute of convolutions and reductions and of the `padding` attribute of `pad`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIELD = re.compile(r"(\w+)=([0-9x_\-]+)", re.ASCII)


class Window(NamedTuple):
    """One dimension of a window.

    Attributes:
        size: The number of elements; stride: the distance from one position to the next.
        low: The padding before the operand; high: the padding after it.
        base_dilation: The distance between elements of the operand; window_dilation: that between elements of the
            window.
    """

    size: int
    stride: int
    low: int
    high: int
    base_dilation: int
    window_dilation: int

    def count(self, length: int) -> int:
        """Return the number of positions that the window takes along an operand's dimension of this length."""
        # Dilation puts holes only between elements, so an empty operand stays empty.
        length = (length - 1) * self.base_dilation + 1 if length else 0
        room = length + self.low + self.high - ((self.size - 1) * self.window_dilation + 1)
        return room // self.stride + 1 if room >= 0 else 0


def read_windows(text: str) -> list[Window]:
    """Parse `{size=2x3 stride=1x2 pad=0_1x1_1}` into one window for each dimension.

    Raises:
        ValueError: The fields have different lengths, or are not numbers.
    """
    fields = dict(_FIELD.findall(text))
    sizes = _read_numbers(fields.get("size", ""))
    plain = "x".join(["1"] * len(sizes))
    pads = fields.get("pad", "x".join(["0_0"] * len(sizes)))
    columns = [_read_numbers(fields.get(key, plain)) for key in ("stride", "lhs_dilate", "rhs_dilate")]
    rows = zip(sizes, columns[0], pads.split("x") if sizes else (), *columns[1:], strict=True)
    windows = []
    for size, stride, pad, base, window in rows:
        low, high = _read_numbers(pad, "_")[:2]
        windows.append(Window(size, stride, low, high, base, window))
    return windows


def read_padding(text: str, lengths: Sequence[int]) -> list[int]:
    """Return the lengths of an operand's dimensions after padding, for a `padding` attribute such as `1_2x0_1_3`.

    The numbers for each dimension are the padding before, after and (optionally) between its elements.

    Raises:
        ValueError: The numbers of parts and dimensions differ.
    """
    padded_lengths = []
    for length, part in zip(lengths, text.split("x") if text else (), strict=True):
        # The third number, the interior padding, is optional.
        low, high, inner = (*_read_numbers(part, "_"), 0)[:3]
        padded_lengths.append(length + low + high + inner * max(length - 1, 0))
    return padded_lengths


def _read_numbers(text: str, separator: str = "x") -> list[int]:
    return [int(part[:18]) for part in text.split(separator)] if text else []
