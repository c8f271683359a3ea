"""Halve the bytes that this program moves on the TPU with a narrower element type. How many are they?"""

import jax
import jax.numpy as jnp

ROWS, WIDEN = jax.ShapeDtypeStruct((1024, 256), jnp.float32), jax.ShapeDtypeStruct((256, 1024), jnp.float32)
EXAMPLE = (ROWS, WIDEN, ROWS)


def layers(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the output of two layers with a gelu between them."""
    return jax.nn.gelu(x @ w) @ v
