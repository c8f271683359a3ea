"""The number of multiplications of a convolution, without those of padding and dilation holes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from xla_inspect.hlo import read_windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.hlo import Window


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
    windows = read_windows(attributes.get("window", ""))
    valid = math.prod(
        _count_valid(window, left[labels[0].index(label)], result[labels[2].index(label)])
        for window, label in zip(windows, spatial, strict=True)
    )
    # What a kernel holds per group: its input features; and its output features are the result's.
    features = right[labels[1].index("i")] * result[labels[2].index("f")]
    batch = left[labels[0].index("b")] // int(attributes.get("batch_group_count", "1"))
    return valid * features * batch


def _count_valid(window: Window, inputs: int, outputs: int) -> int:
    """Return for how many pairs of a window element and a result there is an element of the input.

    Args:
        window: One spatial dimension of the convolution's window.
        inputs: Elements of the input in this dimension.
        outputs: Elements of the result.
    """
    pairs = 0
    period = window.base_dilation // math.gcd(window.stride, window.base_dilation)
    last = (inputs - 1) * window.base_dilation
    for element in range(window.size):
        offset = element * window.window_dilation - window.low
        # Of every `period` results, one at most meets an element and not a hole between two.
        start = next((at for at in range(period) if (at * window.stride + offset) % window.base_dilation == 0), None)
        if start is None:
            continue
        first = max(-(offset // window.stride), 0)
        end = min((last - offset) // window.stride, outputs - 1)
        first += (start - first) % period
        pairs += max((end - first) // period + 1, 0)
    return pairs
