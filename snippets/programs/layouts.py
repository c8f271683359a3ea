"""Products and convolutions whose operands may lie in memory in more than one order."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def convolve_nchw(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Convolve images whose channels come before rows and columns, f32[8,64,32,32]."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def convolve_nhwc(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Convolve images whose channels come last, f32[8,32,32,64]."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def transposed_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the product of a's columns with b's columns, f32[200,300]."""
    return a.T @ b


def transpose(x: jax.Array) -> jax.Array:
    """Return the columns as rows, f32[200,100]."""
    return x.T


def high_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the product, asking for more than the default."""
    return jnp.matmul(a, b, precision="high")


def highest_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the product, rounded as float32 rounds."""
    return jnp.matmul(a, b, precision="highest")


def _arrays(*shapes: tuple[int, ...]) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "NCHW": (convolve_nchw, _arrays((8, 64, 32, 32), (64, 64, 3, 3))),
    "NHWC": (convolve_nhwc, _arrays((8, 32, 32, 64), (3, 3, 64, 64))),
    "a.T @ b": (transposed_product, _arrays((100, 200), (100, 300))),
    "x.T": (transpose, _arrays((100, 200))),
    "high": (high_product, _arrays((1024, 1024), (1024, 1024))),
    "highest": (highest_product, _arrays((1024, 1024), (1024, 1024))),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example), sep="\n")
