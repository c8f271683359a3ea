"""The operations of a program's products, as the basis of its utilization, and those of custom calls."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import Count

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.targets import Hardware

DEFINITION = (
    "Model flops utilization (MFU) is the share of the step that the program's matmuls and convolutions would take at "
    "the peak rate of the device. Those that jax.checkpoint recomputes do not count."
)
"""The definition that answers print."""

_RECOMPUTED = "rematted_computation"
"""The part of an operation's name that JAX writes for the recomputation of a checkpoint."""

_LOCAL = re.compile("manual_computation|shmap_body|shard_map")
"""Parts of the names of computations whose shapes are those of one device, although the module's are global."""

_ANNOTATIONS = ("Sharding", "SPMD", "xla.sdy", "annotate_device", "MoveTo", "LayoutConstraint")
_PRODUCTS = frozenset({"convolution", "custom-call", "dot", "ragged-dot", "scaled-dot"})

_ATTENTION = re.compile(r"attention|mha|splash|flash|sdpa", re.IGNORECASE)
_MASK = re.compile(r"bool\[\d+,\d+\] = (?:ge|gt|le|lt) ")
_FLOATS = frozenset({"bf16", "f16", "f32"})
_FORWARD, _BACKWARD = 3, 4
"""The least number of operands of attention: q, k and v; in the backward pass, also the gradient of the result."""
_SIZES = 3
"""The least rank of an operand of attention: heads, sequence, and the size of a head."""

UNMASKED = 0.55
"""The share of the scores that a kernel with a causal mask computes: one half, and the blocks on the diagonal."""


@dataclass(frozen=True)
class ModelWork:
    """The work of a program's own products on one device.

    Attributes:
        flops: Their operations, without those that checkpoints recompute.
        recomputed: The operations that checkpoints recompute.
        peak_seconds: The time of `flops` at the peak rate of their types.
        unknown: The targets of custom calls whose work is not known, and not included.
    """

    flops: float
    recomputed: float
    peak_seconds: float
    unknown: tuple[str, ...]


def count_model_work(capture: Capture, hardware: Hardware) -> ModelWork | None:
    """Return the work of a program's products, or None without the lowered program or with an unknown trip count."""
    if not capture.before:
        return None
    module = capture.unoptimized_module
    count = Count(module)
    devices = capture.module.num_partitions if capture.after else 1
    products, recomputed = Counter[str](), 0.0
    unknown: dict[str, None] = {}
    is_masked = has_mask(capture)
    for computation in module.computations:
        runs: float | None = None
        for instruction in computation:
            if instruction.opcode not in _PRODUCTS:
                continue
            work = count.instruction(instruction)
            kinds = dict(work.products)
            if work.unknown and not (instruction.custom_call_target or "").startswith(_ANNOTATIONS):
                flops = estimate_call(module, instruction, is_masked=is_masked)
                kinds = {"bf16": int(flops)} if flops else {}
                unknown |= {} if flops else dict.fromkeys(work.unknown)
            if not kinds:
                continue
            runs = count.loops.count_runs(computation.name) if runs is None else runs
            if runs is None:
                return None
            share = runs if _LOCAL.search(computation.name) else runs / devices
            if _RECOMPUTED in (instruction.op_name or ""):
                recomputed += sum(kinds.values()) * share
            else:
                products.update({kind: int(number * share) for kind, number in kinds.items()})
    roofs = {kind: hardware.find_product(kind) for kind in products}
    seconds = sum(products[kind] / roof.rate for kind, roof in roofs.items() if roof)
    return ModelWork(float(products.total()), recomputed, seconds, tuple(unknown))


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
