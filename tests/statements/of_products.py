"""Statements about products and convolutions: what each target makes of them, and in which precision."""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from bare import TARGETS, TYPES, compiled, count, everywhere, same, shape, states, text
from jax.lax import DotAlgorithmPreset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PRODUCTS: Mapping[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "matrix x matrix": ("ij,jk->ik", (64, 128), (128, 256)),
    "batched": ("bij,bjk->bik", (4, 64, 128), (4, 128, 64)),
    "batched matrix x vector": ("bij,bj->bi", (4, 64, 128), (4, 128)),
    "matrix x vector": ("ij,j->i", (64, 128), (128,)),
    "vector x vector": ("i,i->", (128,), (128,)),
    "outer": ("i,j->ij", (64,), (32,)),
    "no rows": ("ij,jk->ik", (0, 128), (128, 64)),
    "nothing to sum": ("ij,jk->ik", (64, 0), (0, 64)),
}


@states("layout, ledger systolic-array")
def makes_convolutions_of_matrices() -> tuple[object, object]:
    """The TPU makes a convolution of products of matrices, and of no product with one vector."""
    observed, expected = {}, {}
    for name, (sum_, first, right) in PRODUCTS.items():
        for dtype in TYPES if name in {"matrix x matrix", "matrix x vector"} else (jnp.float32,):
            module = text(
                functools.partial(jnp.einsum, sum_),
                shape(*first, dtype=dtype),
                shape(*right, dtype=dtype),
                target="tpu",
            )
            observed[name, jnp.dtype(dtype).name] = count(module, "dot", "convolution")
            expected[name, jnp.dtype(dtype).name] = [0, int(name in list(PRODUCTS)[:3])]
    return expected, observed


def convolve(order: str, kernel: str) -> Callable[..., jax.Array]:
    """Return a convolution whose dimensions are in an order."""

    def convolution(x: jax.Array, k: jax.Array) -> jax.Array:
        steps = (1,) * (len(order) - 2)
        return jax.lax.conv_general_dilated(x, k, steps, "SAME", dimension_numbers=(order, kernel, order))

    return convolution


CONVOLUTIONS = {
    "NHWC": ("HWIO", (8, 32, 32, 64), (3, 3, 64, 64), {"cpu": "b01f", "h100": "b01f", "tpu": "b01f"}),
    "NHWC, small": ("HWIO", (2, 16, 16, 8), (3, 3, 8, 8), {"cpu": "b01f", "h100": "b01f", "tpu": "0b1f"}),
    "NCHW": ("OIHW", (8, 64, 32, 32), (64, 64, 3, 3), {"cpu": "b01f", "h100": "b01f", "tpu": "bf01"}),
    "NCHW, small": ("OIHW", (2, 8, 16, 16), (8, 8, 3, 3), {"cpu": "b01f", "h100": "b01f", "tpu": "f0b1"}),
    "NDHWC": ("DHWIO", (2, 8, 8, 8, 16), (3, 3, 3, 16, 16), {"cpu": "b012f", "h100": "bf012", "tpu": "b012f"}),
}


@states("layout, ledger nhwc-becomes-nchw, gpu-nhwc-becomes-nchw")
def orders_convolutions() -> tuple[object, object]:
    """No target makes NHWC channels first; the TPU keeps labels at large sizes and not at small."""
    observed, expected = {}, {}
    for name, (kernel, x, k, labels) in CONVOLUTIONS.items():
        function = convolve(name.partition(",")[0], kernel)
        for target in TARGETS:
            for dtype in (jnp.float32, jnp.bfloat16) if name == "NHWC" else (jnp.float32,):
                module = text(function, shape(*x, dtype=dtype), shape(*k, dtype=dtype), target=target)
                operand_labels = LABELS.search(module)
                observed[name, target, jnp.dtype(dtype).name] = operand_labels[1] if operand_labels else ""
                expected[name, target, jnp.dtype(dtype).name] = labels[target]
    return expected, observed


MMA = re.compile(r"(?:wgmma\.mma_async|mma\.sync)[\w.]*")


LABELS = re.compile(r"dim_labels=(\w+)_")


def list_matrix_instructions(function: Callable[..., Any], *example: jax.ShapeDtypeStruct) -> list[str]:
    """Return the matrix instructions in the PTX that a function becomes, each once."""
    with tempfile.TemporaryDirectory() as folder:
        compiled(function, *example, target="h100", xla_dump_to=folder, xla_dump_emitter_re=".*")
        ptx = "".join(file.read_text(encoding="utf-8") for file in Path(folder).glob("*.ptx"))
    return sorted(set(MMA.findall(ptx)))


def list_types(function: Callable[..., Any], *example: jax.ShapeDtypeStruct) -> set[str]:
    """Return the types of operands in the matrix instructions that a function becomes."""
    return {
        instruction.split(".")[-2 if "wgmma" in instruction else -3]
        for instruction in list_matrix_instructions(function, *example)
    }


@states("when-xla-helps, layout, ledger tensor-cores")
def multiplies_in_tf32() -> tuple[object, object]:
    """Float32 products of matrices are made in TF32; with a vector, or tiny, not."""
    expected: dict[str, set[str]] = {
        "matrix x matrix": {"tf32"},
        "batched": {"tf32"},
        "matrix x vector": set(),
        "batched matrix x vector": set(),
    }
    observed = {
        name: list_types(functools.partial(jnp.einsum, sum_), shape(*first), shape(*right))
        for name, (sum_, first, right) in PRODUCTS.items()
        if name in expected
    }
    return {**expected, "tiny": set()}, {**observed, "tiny": list_types(jnp.matmul, shape(4, 4), shape(4, 4))}


@states("layout, when-xla-helps")
def does_without_tensor_cores() -> tuple[object, object]:
    """Both `highest` and the preset F32_F32_F32 do without tensor cores."""
    ways: tuple[Any, ...] = ("highest", DotAlgorithmPreset.F32_F32_F32)
    pair = shape(64, 128), shape(128, 256)
    observed = [list_matrix_instructions(functools.partial(jnp.matmul, precision=way), *pair) for way in ways]
    return [[], []], observed


@states("simplification, ledger dot-with-identity")
def computes_products_with_constants() -> tuple[object, object]:
    """A product with the identity, or with zeros, is computed."""

    def look(target: str) -> list[int]:
        compiled_texts = [
            text(lambda x, m=m: x @ m, shape(64, 64), target=target) for m in (np.eye(64), np.zeros((64, 64)))
        ]
        return [sum(count(module, "dot", "convolution")) for module in compiled_texts]

    return same([1, 1]), everywhere(look)
