"""Move half as many bytes by using half as many bits: a solution."""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(1024, 256), shape(256, 1024), shape(1024, 256))


def start(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the output of two layers with a gelu between them, f32[1024,256]."""
    return jax.nn.gelu(x @ w) @ v


def better(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return nearly the same result as `start`, f32[1024,256], with fewer bytes read and written."""
    x, w, v = (array.astype(jnp.bfloat16) for array in (x, w, v))
    return jnp.dot(jax.nn.gelu(x @ w), v, preferred_element_type=jnp.float32)
