"""Turn the three kernels on the H100 into one. Why are there three?"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((256, 1024), jnp.float32),)


def softmax(x: jax.Array) -> jax.Array:
    """Return the softmax of each row."""
    return jnp.exp(x - jax.nn.logsumexp(x, axis=-1, keepdims=True))
