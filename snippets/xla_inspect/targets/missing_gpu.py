"""Options for compiles without the GPU, and sentences about what XLA decides otherwise with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CUB_SORT = "xla_gpu_enable_cub_radix_sort"
"""The XLA option that lets the library CUB sort many elements; the library asks for the GPU during the compile."""

TILING_MODEL = "xla_gpu_experimental_cost_model_gemm_tiling_default"
"""The XLA option that lets a cost model choose the tile of a matmul, instead of the first tile on XLA's list."""


def explain_tiles(options: Mapping[str, object]) -> str:
    """Return a phrase about the origin of the tiles of a GPU's matmuls without autotuning, or "" with autotuning.

    Args:
        options: The options of the compile.
    """
    if str(options.get("xla_gpu_autotune_level")) != "0":
        return ""
    if str(options.get(TILING_MODEL)).lower() == "true":
        return "chosen by a cost model, not measured"
    return "the first on XLA's list, neither estimated nor measured"


def explain_missing_gpu(options: Mapping[str, object], module: str) -> str:
    """Return sentences about the calls of libraries that differ if the GPU is present, or an empty string.

    Args:
        options: The options of the compile.
        module: The text of the optimized module.
    """
    sentences = []
    if str(options.get(CUB_SORT)).lower() == "false" and " sort(" in module:
        sentences.append("XLA's own kernels sort; with the GPU present, the library CUB may sort many elements.")
    if "config-assigner" in str(options.get("xla_disable_hlo_passes")) and "__cudnn$conv" in module:
        sentences.append(
            "Matmuls are library calls and convolutions have no algorithm; with the GPU present, Triton may compute "
            "matmuls, and MIOpen chooses the algorithms."
        )
    if "__cudnn$fmha" in module and explain_tiles(options):
        sentences.append("JAX wrote the calls of cuDNN's attention for cuDNN 9.12 and the features of an H100.")
    return " ".join(sentences)
