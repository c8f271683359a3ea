"""Write a program of which one fusion is left: a solution."""

import jax
import jax.numpy as jnp


def alternate(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x * w at even places and tanh(x) at odd ones: f32[4096], f32[] -> f32[4096]."""
    even = jnp.arange(len(x)) % 2 == 0
    return jnp.where(even, x * w, jnp.tanh(x))
