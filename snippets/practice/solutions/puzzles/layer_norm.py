"""Normalize rows with as few reads as possible: a solution."""

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
    zero = jnp.float32(0)
    near = x - x[:, :1]
    total, squares = jax.lax.reduce(
        (near, near * near), (zero, zero), lambda one, other: (one[0] + other[0], one[1] + other[1]), (1,)
    )
    mean = (total / x.shape[1])[:, None]
    variance = (squares / x.shape[1])[:, None] - mean**2
    normed: jax.Array = (near - mean) * jax.lax.rsqrt(variance + 1e-5)
    return normed * scale + shift
