"""The compilers' own estimates of the time of each instruction, as they write them into the optimized module."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis.estimates.model_flops import has_mask, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

COLLECT = "xla_gpu_collect_cost_model_stats"
"""The option with which the GPU compiler writes its estimates. It adds a pass at the end, and changes no kernel."""

SOL = "sol"
"""The name of the GPU compiler's model that interpolates in tables of measured times of matmuls and collectives."""

_CYCLES = re.compile(r'^ *(?:ROOT )?%?(?P<name>[\w.$-]+) = .*"estimated_cycles":"(?P<cycles>[1-9]\d*)"', re.MULTILINE)


@dataclass(frozen=True)
class CompilerFigures:
    """The estimates of a TPU's or a GPU's compiler, by the name of the instruction.

    Attributes:
        cycles: For a TPU, the estimated cycles of one run.
        models: For a GPU, the estimated seconds of one run by the name of the model.
        has_mask: Whether the program's own kernels have a causal mask, which the compilers' estimates ignore.
    """

    cycles: Mapping[str, int]
    models: Mapping[str, Mapping[str, float]]
    has_mask: bool = False


def read_figures(capture: Capture) -> CompilerFigures:
    """Return the compiler's estimates in a capture; both parts are empty if the compiler wrote none."""
    # A TPU's code generator adds the cycles to the scheduled module, which is a part of the generated code.
    texts = [capture.after, *(piece.text for piece in capture.code if piece.language == "hlo")]
    cycles = {match["name"]: int(match["cycles"]) for text in texts for match in _CYCLES.finditer(text)}
    models: dict[str, Mapping[str, float]] = {}
    # Reading the configuration of each instruction takes time, so other modules are not walked.
    if '"reification_cost":[{' in capture.after:
        models = {instruction.name: costs for instruction in capture.module.walk() if (costs := _read(instruction))}
    return CompilerFigures(cycles, models, has_mask(capture))


def _read(instruction: Instruction) -> dict[str, float]:
    costs: list[dict[str, Any]] = read_settings(instruction).get("reification_cost") or []
    return {str(cost.get("name", "")): float(cost.get("exec_time_us", 0.0)) * 1e-6 for cost in costs}
