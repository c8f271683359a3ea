"""Write a program that compiles to a single fusion: a solution."""

import jax
import jax.numpy as jnp


def alternate(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x * w at even positions and tanh(x) at odd positions: f32[4096], f32[] -> f32[4096]."""
    even = jnp.arange(len(x)) % 2 == 0
    return jnp.where(even, x * w, jnp.tanh(x))
