"""How many multiplications a convolution takes, padding and the holes of dilation left out."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial dimension of a convolution's window, as `window={...}` writes it.

    Attributes:
        size: Elements of the window.
        stride: Steps of the window between two results.
        low: Padding before the input, negative where the input is cut.
        base_dilation: Steps between two elements of the input (`lhs_dilate`).
        window_dilation: Steps between two elements of the window (`rhs_dilate`).
    """

    size: int
    stride: int = 1
    low: int = 0
    base_dilation: int = 1
    window_dilation: int = 1

    def count_valid(self, inputs: int, outputs: int) -> int:
        """Return for how many pairs of a window element and a result there is an element of the input.

        Args:
            inputs: Elements of the input in this dimension.
            outputs: Elements of the result.
        """
        pairs = 0
        period = self.base_dilation // math.gcd(self.stride, self.base_dilation)
        last = (inputs - 1) * self.base_dilation
        for element in range(self.size):
            offset = element * self.window_dilation - self.low
            # Of every `period` results, one at most meets an element and not a hole between two.
            start = next((at for at in range(period) if (at * self.stride + offset) % self.base_dilation == 0), None)
            if start is None:
                continue
            first = max(-(offset // self.stride), 0)
            end = min((last - offset) // self.stride, outputs - 1)
            first += (start - first) % period
            pairs += max((end - first) // period + 1, 0)
        return pairs


def count_multiplications(
    attributes: Mapping[str, str], left: Sequence[int], right: Sequence[int], result: Sequence[int]
) -> int:
    """Return how many pairs of elements a convolution multiplies.

    The rule is that of `HloCostAnalysis::GetConvolutionFlops` (xla/service/hlo_cost_analysis.cc).

    Args:
        attributes: The convolution's attributes, `window`, `dim_labels` and the group counts among them.
        left: Sizes of the input.
        right: Sizes of the kernel.
        result: Sizes of the result.
    """
    labels = re.split(r"[_>-]+", attributes["dim_labels"])
    spatial = sorted(label for label in labels[0] if label.isdigit())
    axes = read_window(attributes.get("window", ""), len(spatial))
    valid = math.prod(
        axis.count_valid(left[labels[0].index(label)], result[labels[2].index(label)])
        for axis, label in zip(axes, spatial, strict=True)
    )
    # What a kernel holds per group: its input features; and its output features are the result's.
    features = right[labels[1].index("i")] * result[labels[2].index("f")]
    batch = left[labels[0].index("b")] // int(attributes.get("batch_group_count", "1"))
    return valid * features * batch


def read_window(text: str, rank: int) -> tuple[Axis, ...]:
    """Return the spatial dimensions of `{size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=2x2}`."""
    fields = {name: value.split("x") for name, value in re.findall(r"(\w+)=([-\d_x]+)", text)}

    def number(name: str, at: int) -> int:
        return int(fields[name][at].partition("_")[0]) if name in fields else 1

    return tuple(
        Axis(
            size=number("size", at),
            stride=number("stride", at),
            low=number("pad", at) if "pad" in fields else 0,
            base_dilation=number("lhs_dilate", at),
            window_dilation=number("rhs_dilate", at),
        )
        for at in range(rank)
    )
