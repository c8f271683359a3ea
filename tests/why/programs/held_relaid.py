"""Held-out programs of public issues with transposes, layouts and library calls, each rewritten from its issue.

They are kept out while `xla-inspect why` is built.
"""

import jax
import jax.numpy as jnp
from jax.experimental.layout import Layout, with_layout_constraint


def convolve_channels_first(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return a convolution of images whose channels come before height and width."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def convolve_channels_last(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return a convolution of images whose channels come last."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def solve(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the solutions of a batch of systems of equations."""
    solutions: jax.Array = jnp.linalg.solve(a, b[..., None])
    return solutions[..., 0]


def multiply_vector(w: jax.Array, x: jax.Array) -> jax.Array:
    """Return a matrix times a vector."""
    return w @ x


def keep_columns(x: jax.Array) -> jax.Array:
    """Return a matrix that is stored with contiguous columns before it is used."""
    doubled: jax.Array = with_layout_constraint(x * 2.0, Layout((1, 0)))
    return jnp.tanh(doubled)
