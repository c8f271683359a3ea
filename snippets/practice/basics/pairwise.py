"""Apply a function of two vectors to every pair without a loop.

`distance(a, b)`, for two vectors, is already written. `pairwise(xs, ys)` returns the matrix of the distances between
each row of `xs` and each row of `ys`: f32[n,3], f32[m,3] -> f32[n,m]. Points may coincide, and may be far from zero.

A Python loop would add the operations of `distance` to the program once for each pair. `vmap` adds each of them once
for all pairs. The check traces `pairwise` for a few pairs and for more pairs, and counts the equations.
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((4, 3), jnp.float32), jax.ShapeDtypeStruct((6, 3), jnp.float32))


def distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the distance between two points: f32[3], f32[3] -> f32[]."""
    return jnp.sqrt(jnp.sum((a - b) ** 2))


def pairwise(xs: jax.Array, ys: jax.Array) -> jax.Array:
    """Return the distances of all pairs: f32[n,3], f32[m,3] -> f32[n,m]."""
    raise NotImplementedError  # TODO(human): jax.vmap, twice
