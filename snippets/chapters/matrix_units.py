"""Which element types a TPU's kernels have on their way through the matrix units, by their operations."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles import read_below

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

_TYPE = re.compile(r"\.(bf16|[fsu]\d+|f8\w+|e\dm\d\w*)(?=\.|$)")


def count_types(capture: Capture, mnemonic: str) -> Counter[str]:
    """Return how many operations of one kind the kernels have by element type, as they stand there, a loop's body once.

    Where an operation names two types, it counts for the second, which it makes of the first; one that names none
    counts for `f32`.

    Args:
        capture: One for a TPU, made with `machine=True`.
        mnemonic: The first part of the operation's name, such as `vmatmul` or `vpack`.
    """
    return Counter(
        (_TYPE.findall(slot.operation) or ["f32"])[-1]
        for kernel in read_below(capture)
        if kernel.is_kernel
        for bundle in kernel.bundles
        for slot in bundle.slots
        if slot.operation.partition(".")[0] == mnemonic
    )
