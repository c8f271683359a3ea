"""Programs of public issues with transposes, layouts and library calls, each rewritten from its issue."""

import jax
import jax.numpy as jnp


def project_swapped(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Return a projection with the weights as the first operand."""
    projected = jax.lax.dot_general(weights, x, (((1,), (2,)), ((), ())))
    return projected.transpose(1, 2, 0)


def compare_patches(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the similarity of the pixels of all pairs of images."""
    return jnp.einsum("nxyc,mxyc->nmxy", a, b)


def multiply(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return a matmul of half-precision matrices."""
    return x @ w


def swap_heads(q: jax.Array) -> jax.Array:
    """Return queries with the heads split into groups, which come before the tokens."""
    grouped = q.reshape(512, 8, 2, 2, 128)
    return grouped.swapaxes(0, 1)


def add_transposed(x: jax.Array) -> jax.Array:
    """Return the symmetric part of a matrix."""
    return 0.5 * (x + x.T)
