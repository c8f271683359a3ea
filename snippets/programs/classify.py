"""Class probabilities: a matrix product and a softmax over its rows."""

import jax
import jax.numpy as jnp


def classify(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return softmax(x @ w) along the last axis, f32[64,256]."""
    return jax.nn.softmax(x @ w, axis=-1)


EXAMPLE = (
    jax.ShapeDtypeStruct((64, 128), jnp.float32),
    jax.ShapeDtypeStruct((128, 256), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(classify)(*EXAMPLE))
