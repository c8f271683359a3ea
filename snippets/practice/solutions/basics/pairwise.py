"""Apply a function of two vectors to every pair without a loop: a solution."""

import jax
import jax.numpy as jnp


def distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the distance between two points: f32[3], f32[3] -> f32[]."""
    return jnp.sqrt(jnp.sum((a - b) ** 2))


def pairwise(xs: jax.Array, ys: jax.Array) -> jax.Array:
    """Return the distances of all pairs: f32[n,3], f32[m,3] -> f32[n,m]."""
    one_row = jax.vmap(distance, in_axes=(None, 0))
    return jax.vmap(one_row, in_axes=(0, None))(xs, ys)
