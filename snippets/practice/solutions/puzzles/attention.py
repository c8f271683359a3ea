"""Compute attention without storing the whole matrix of scores: a solution."""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(2048, 64),) * 3


def start(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return attention with one head: three arrays f32[2048,64] -> f32[2048,64]."""
    return jax.nn.softmax(q @ k.T / 8.0, axis=-1) @ v


def better(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return the same result as `start`, with less temporary memory."""

    def attend(rows: jax.Array) -> jax.Array:
        return jax.nn.softmax(rows @ k.T / 8.0, axis=-1) @ v

    blocks: jax.Array = jax.lax.map(attend, q.reshape(-1, 32, 64))
    return blocks.reshape(q.shape)
