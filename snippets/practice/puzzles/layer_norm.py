"""Normalize rows with as few reads as possible.

`start(x, scale, shift)` computes the mean of each row and then the mean squared difference from it, and reads the rows
again for each step: f32[512,1024], f32[1024], f32[1024] -> f32[512,1024].

The score is the bytes that the kernels read and write on the CPU. The result must be right for rows far from zero: the
check also tries rows near 100.
"""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(512, 1024), shape(1024), shape(1024))


def start(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    """Return the normalized rows, scaled and shifted, f32[512,1024]."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift


def better(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    """Return the same result as `start`, with fewer bytes read and written."""
    raise NotImplementedError  # TODO(human): fewer bytes
