"""Compute attention without storing the whole matrix of scores.

`start(q, k, v)` computes a matrix of scores, f32[2048,2048], which is larger than its arguments and its result
together: three arrays f32[2048,64] -> f32[2048,64].

The score is the temporary memory of the program on the CPU, which excludes its arguments and its result. At most 1,000
launches are allowed. One row at a time would need the least memory, but it would leave any device mostly idle. The
check also tries large scores, and scores near -200.
"""

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
    raise NotImplementedError  # TODO(human): less memory
