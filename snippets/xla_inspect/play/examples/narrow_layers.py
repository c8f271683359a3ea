"""What does it move on the TPU? Move half of the bytes, where half of the bits will do."""

import jax
import jax.numpy as jnp

ROWS, WIDEN = jax.ShapeDtypeStruct((1024, 256), jnp.float32), jax.ShapeDtypeStruct((256, 1024), jnp.float32)
EXAMPLE = (ROWS, WIDEN, ROWS)


def layers(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return two layers with a gelu between them."""
    return jax.nn.gelu(x @ w) @ v
