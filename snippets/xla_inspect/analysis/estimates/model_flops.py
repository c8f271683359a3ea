"""The operations of a program's matmuls and convolutions, without recomputed ones, as the basis of its utilization."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Count
from xla_inspect.analysis.estimates.call_work import estimate_call, has_mask

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.targets import Hardware

DEFINITION = (
    "Model flops utilization (MFU) is the share of the step that the program's matmuls and convolutions would take at "
    "the peak rate of the device. Those that jax.checkpoint recomputes do not count."
)
"""The definition that answers print."""

_RECOMPUTED = "rematted_computation"
"""The part of an operation's name that JAX writes for the recomputation of a checkpoint."""

_LOCAL = ("manual_computation", "shmap_body", "shard_map")
"""Parts of the names of computations whose shapes are those of one device, although the module's are global."""

_PRODUCTS = frozenset({"convolution", "custom-call", "dot", "ragged-dot", "scaled-dot"})


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
    """Return the work of a program's products, or None without the lowered program or with an unknown trip count.

    Args:
        capture: The capture; its unoptimized module has the program as it was written.
        hardware: The peak rates of one device.
    """
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
            if work.unknown and not _is_annotation(instruction.custom_call_target or ""):
                flops = estimate_call(module, instruction, is_masked=is_masked)
                kinds = {"bf16": int(flops)} if flops else {}
                unknown |= {} if flops else dict.fromkeys(work.unknown)
            if not kinds:
                continue
            runs = count.loops.count_runs(computation.name) if runs is None else runs
            if runs is None:
                return None
            share = runs if _is_local(computation.name) else runs / devices
            if _RECOMPUTED in (instruction.op_name or ""):
                recomputed += sum(kinds.values()) * share
            else:
                products.update({kind: int(number * share) for kind, number in kinds.items()})
    roofs = {kind: hardware.find_product(kind) for kind in products}
    seconds = sum(products[kind] / roof.rate for kind, roof in roofs.items() if roof)
    return ModelWork(float(products.total()), recomputed, seconds, tuple(unknown))


def _is_annotation(target: str) -> bool:
    return target.startswith(("Sharding", "SPMD", "xla.sdy", "annotate_device", "MoveTo", "LayoutConstraint"))


def _is_local(name: str) -> bool:
    return any(part in name for part in _LOCAL)
