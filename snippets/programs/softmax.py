"""Softmax over the last axis, written out."""

import jax
import jax.numpy as jnp


def softmax(x: jax.Array) -> jax.Array:
    """Return exp(x - max x) / sum exp(x - max x) along the last axis, f32[128,1024]."""
    shifted = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return shifted / jnp.sum(shifted, axis=-1, keepdims=True)


EXAMPLE = (jax.ShapeDtypeStruct((128, 1024), jnp.float32),)

if __name__ == "__main__":
    print(jax.make_jaxpr(softmax)(*EXAMPLE))
