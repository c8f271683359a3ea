"""Avoid most of the matrix of scores. Where in memory is it?"""

import jax
import jax.numpy as jnp

HEAD = jax.ShapeDtypeStruct((2048, 64), jnp.float32)
EXAMPLE = (HEAD, HEAD, HEAD)


def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return the output of attention with one head."""
    return jax.nn.softmax(q @ k.T / 8.0, axis=-1) @ v
