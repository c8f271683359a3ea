"""Element types that a TPU's kernels send through its matrix units, counted from the names of operations."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from xla_inspect import capture
from xla_inspect.analysis.bundles import read_below

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

# The lookahead does not consume the dot, so that two types in a row both match.
_TYPE = re.compile(r"\.(bf16|[fsu]\d+|f8\w+|e\dm\d\w*)(?=\.|$)")


def count_types(capture: Capture, mnemonic: str) -> Counter[str]:
    """Return the number of operations of one kind in the kernels, by element type, with a loop's body counted once.

    An operation that converts from one type to another is counted for its result type, the second in its name. One
    without a type in its name is counted for `f32`.

    Args:
        capture: A capture for a TPU, made with `machine=True`.
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


def count_rows(elements: int, width: int, target: str) -> int:
    """Return the number of operations that send rows of a matmul in bfloat16 through a TPU's matrix units.

    Args:
        elements: The number of contracted elements.
        width: The number of columns of the weights.
        target: A TPU.
    """
    example = (jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((256, elements), (elements, width)))
    return count_types(capture(jnp.matmul, *example, target=target, machine=True, passes=False), "vmatmul").total()
