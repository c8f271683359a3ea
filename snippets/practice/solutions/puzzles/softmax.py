"""Launch as few kernels as possible for the softmax and the entropy of each row: a solution."""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(256, 1024),)


def start(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the softmax of each row and its entropy: f32[256,1024] -> f32[256,1024], f32[256]."""
    log_p = x - jax.nn.logsumexp(x, axis=-1, keepdims=True)
    p = jnp.exp(log_p)
    return p, -jnp.sum(p * log_p, axis=-1)


def better(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the same result as `start`, with fewer kernels."""
    p = jax.nn.softmax(x, axis=-1)
    return p, -jnp.sum(p * jnp.log(jnp.maximum(p, 1e-30)), axis=-1)
