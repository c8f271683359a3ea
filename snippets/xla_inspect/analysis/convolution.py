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
    attributes: Mapping[str, str], inputs: Sequence[int], kernel: Sequence[int], outputs: Sequence[int]
) -> int | None:
    """Return the number of pairs of elements that a convolution multiplies, without padding and dilation holes.

    The result is None if the text omits the window of a dimension, as XLA's parser allows for a library's convolution.
    The rule is that of `HloCostAnalysis::GetConvolutionFlops` (xla/service/hlo_cost_analysis.cc).

    Args:
        attributes: The convolution's attributes, including `window`, `dim_labels` and the group counts.
        inputs: The dimensions of the input.
        kernel: The dimensions of the kernel.
        outputs: The dimensions of the result.
    """
    labels = re.split(r"[_>-]+", attributes["dim_labels"])
    spatial = sorted(label for label in labels[0] if label.isdigit())
    windows = read_windows(attributes.get("window", ""))
    if len(windows) != len(spatial):
        return None
    valid = math.prod(
        _count_valid(window, inputs[labels[0].index(label)], outputs[labels[2].index(label)])
        for window, label in zip(windows, spatial, strict=True)
    )
    # The kernel's input features are those of one group; its output features are those of the result.
    features = kernel[labels[1].index("i")] * outputs[labels[2].index("f")]
    # Batch groups divide the batch of the input between output features, so each pair is counted once.
    batch = inputs[labels[0].index("b")] // int(attributes.get("batch_group_count", "1"))
    return valid * features * batch


def _count_valid(window: Window, inputs: int, outputs: int) -> int:
    """Return the number of pairs of a window element and a result element that have an input element.

    Args:
        window: One spatial dimension of the convolution's window.
        inputs: The size of the input in this dimension.
        outputs: The size of the result in this dimension.
    """
    pairs = 0
    # The pattern of holes that the window meets repeats after this many results.
    period = window.base_dilation // math.gcd(window.stride, window.base_dilation)
    last = (inputs - 1) * window.base_dilation
    for element in range(window.size):
        offset = element * window.window_dilation - window.low
        # Base dilation leaves holes, so at most one of every `period` results reads an input element.
        start = next((at for at in range(period) if (at * window.stride + offset) % window.base_dilation == 0), None)
        if start is None:
            continue
        # Results before `first` read the low padding, and results after `end` read the high padding.
        first = max(-(offset // window.stride), 0)
        end = min((last - offset) // window.stride, outputs - 1)
        # The range starts at the next result that meets an element and not a hole.
        first += (start - first) % period
        pairs += max((end - first) // period + 1, 0)
    return pairs
