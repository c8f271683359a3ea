"""Matmul tiles that XLA's cost model chooses for an H100, and tiles that libraries and tuned kernels use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from xla_inspect import capture

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

_FUSER, _VLLM = "https://github.com/NVIDIA/Fuser/issues", "https://github.com/vllm-project/vllm/pull/53247"


class Choice(NamedTuple):
    """A tile that measurements found fast or that a library uses.

    Attributes:
        shape: Rows and columns of the result, and the contracted dimension.
        tile: Rows and columns of the tile.
        by: The name of the library or tuned kernel.
        source: A link to the record.
    """

    shape: tuple[int, int, int]
    tile: tuple[int, int]
    by: str
    source: str


# cuBLAS includes the tile in its kernels' names. vLLM's table of Triton tiles for Hopper was measured on an H20, which
# has fewer of the matrix units that the H100 has.
CHOICES = (
    Choice((2048, 2048, 8192), (256, 128), "cuBLAS", f"{_FUSER}/3279"),
    Choice((16384, 16384, 1024), (192, 192), "cuBLAS", f"{_FUSER}/3137"),
    Choice((8192, 8192, 512), (128, 128), "cuBLAS", "https://github.com/triton-lang/triton/pull/5726"),
    Choice((8192, 6144, 3072), (128, 256), "Triton, Inductor", "https://github.com/pytorch/pytorch/pull/181413"),
    Choice((2048, 12288, 2048), (128, 256), "Triton, vLLM", _VLLM),
    Choice((256, 12288, 2048), (64, 128), "Triton, vLLM", _VLLM),
    Choice((64, 12288, 2048), (64, 64), "Triton, vLLM", _VLLM),
    Choice((2048, 4096, 2048), (64, 64), "Triton, vLLM", _VLLM),
    Choice((2048, 2048, 6144), (64, 128), "Triton, vLLM", _VLLM),
    Choice((16, 4096, 2048), (16, 64), "Triton, vLLM", _VLLM),
)


def compile_matmul(shape: tuple[int, int, int], options: dict[str, bool | str] | None = None) -> Capture:
    """Compile a bfloat16 matmul for the H100 that is not split along the contracted dimension.

    Args:
        shape: The rows and columns of the result, and the contracted dimension.
        options: XLA options, which may replace the one that disables the split.
    """
    rows, columns, depth = shape
    first, second = (jax.ShapeDtypeStruct(sides, jnp.bfloat16) for sides in ((rows, depth), (depth, columns)))
    # A matmul split along the contracted dimension needs a second kernel, but `read_tile` expects only one.
    whole = {"xla_disable_hlo_passes": "splitk-rewriter", **(options or {})}
    return capture(jnp.matmul, first, second, target="h100", options=whole, passes=False)


def read_tile(matmul: Capture) -> tuple[int, int]:
    """Return the rows and columns of the output tile of each block in a matmul's only kernel."""
    rows, columns = read_tiling(matmul)["output_tiles"][0]["sizes"]
    return int(rows), int(columns)


def read_tiling(matmul: Capture) -> dict[str, Any]:
    """Return the tiling part of the configuration of a matmul's only kernel, a Triton kernel, as parsed JSON."""
    config = json.loads(matmul.module.entry.root.backend_config or "{}")
    tiling: dict[str, Any] = config["fusion_backend_config"]["block_level_fusion_config"]
    return tiling
