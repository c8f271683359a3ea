"""The work of custom calls whose operations the counter does not know: kernels with a cost estimate, and attention."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

_ATTENTION = re.compile(r"attention|mha|splash|flash|sdpa", re.IGNORECASE)
_MASK = re.compile(r"bool\[\d+,\d+\] = (?:ge|gt|le|lt) ")
_FLOATS = frozenset({"bf16", "f16", "f32"})
_FORWARD, _BACKWARD = 3, 4
"""The least number of operands of attention: q, k and v; in the backward pass, also the gradient of the result."""
_SIZES = 3
"""The least rank of an operand of attention: heads, sequence, and the size of a head."""

UNMASKED = 0.55
"""The share of the scores that a kernel with a causal mask computes: one half, and the blocks on the diagonal."""


def read_settings(instruction: Instruction) -> dict[str, Any]:
    """Return the backend config of an instruction, or an empty dictionary if it has none in JSON."""
    try:
        settings = json.loads(instruction.backend_config or "{}")
    # The config of a kernel for Triton is MLIR.
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def has_mask(capture: Capture) -> bool:
    """Return whether a Pallas kernel of a program compares the positions of a block, as a causal mask does."""
    return "pallas_call" in capture.jaxpr and _MASK.search(capture.jaxpr) is not None


def estimate_call(module: Module, instruction: Instruction, *, is_masked: bool) -> float:
    """Return the operations of a custom call's products; 0 if they are unknown.

    A Pallas kernel may state its cost. Attention is recognized by its name and its operands: its forward pass has two
    products of each query with each key that the mask leaves. A backward pass has one product more than it has results,
    and two that recompute the weights and their gradient.

    Args:
        module: The module.
        instruction: The custom call.
        is_masked: Whether the kernels of the program have a causal mask.
    """
    cost = read_settings(instruction).get("custom_call_config", {}).get("cost_estimate", {})
    if flops := float(cost.get("flops", 0)):
        return flops
    text = f"{instruction.name} {instruction.custom_call_target or ''} {instruction.op_name or ''}"
    if not _ATTENTION.search(text):
        return 0.0
    operands = [operand.shape for operand in module.operands(instruction)]
    values = [shape for shape in operands if shape.is_array and shape.rank >= _SIZES and shape.dtype in _FLOATS]
    if len(values) < _FORWARD:
        return 0.0
    query = values[0]
    # Heads and sequence may come in either order; the sequence is usually the longer axis.
    keys = max(values[1].dimensions[-3:-1])
    gradients = sum(leaf.dimensions[-1:] == query.dimensions[-1:] for leaf in instruction.shape.leaves())
    products = 2 + max(gradients, 1) if len(values) > _BACKWARD and gradients else 2
    return 2.0 * (UNMASKED if is_masked else 1.0) * products * query.size * keys
