"""Products and convolutions whose operands may lie in memory in more than one order."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.layout import Layout, with_layout_constraint


def convolve_nchw(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Convolve images whose channels come before rows and columns, f32[8,64,32,32]."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def convolve_nhwc(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Convolve images whose channels come last, f32[8,32,32,64]."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def transposed_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return a.T @ b, the product of the columns of a with the columns of b, f32[200,300]."""
    return a.T @ b


def transpose(x: jax.Array) -> jax.Array:
    """Return x.T, f32[200,100]."""
    return x.T


def sum_transposed(x: jax.Array) -> jax.Array:
    """Return the sum of all elements, read through a transpose."""
    return x.T.sum()


def sum_after_transposing(x: jax.Array) -> jax.Array:
    """Return the sum of all elements, after the transpose lies in memory row by row."""
    rows: jax.Array = with_layout_constraint(x.T, Layout((0, 1)))
    return rows.sum()


def high_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return a @ b with the precision "high", which is above the default."""
    return jnp.matmul(a, b, precision="high")


def highest_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return a @ b with the precision "highest", that of float32."""
    return jnp.matmul(a, b, precision="highest")


def _arrays(*shapes: tuple[int, ...]) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "NCHW": (convolve_nchw, _arrays((8, 64, 32, 32), (64, 64, 3, 3))),
    "NHWC": (convolve_nhwc, _arrays((8, 32, 32, 64), (3, 3, 64, 64))),
    "a.T @ b": (transposed_product, _arrays((100, 200), (100, 300))),
    "x.T": (transpose, _arrays((100, 200))),
    "x.T.sum()": (sum_transposed, _arrays((4096, 2048))),
    "x.T in rows, then sum": (sum_after_transposing, _arrays((4096, 2048))),
    "high": (high_product, _arrays((1024, 1024), (1024, 1024))),
    "highest": (highest_product, _arrays((1024, 1024), (1024, 1024))),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example), sep="\n")
