"""Write a program that the compiler optimizes away: a solution."""

import jax
import jax.numpy as jnp


def nothing(x: jax.Array) -> jax.Array:
    """Return x after at least six operations: f32[64,128] -> f32[64,128]."""
    turned = -jnp.flip(x.T, axis=0)
    flat = turned.reshape(-1) * 1.0
    return jnp.flip(-flat.reshape(128, 64), axis=0).T
