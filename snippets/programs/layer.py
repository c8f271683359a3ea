"""One dense layer: a matrix product, a bias and a relu."""

import jax
import jax.numpy as jnp


def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """Return relu(x @ w + b), f32[64,256]."""
    return jax.nn.relu(x @ w + b)


EXAMPLE = (
    jax.ShapeDtypeStruct((64, 128), jnp.float32),
    jax.ShapeDtypeStruct((128, 256), jnp.float32),
    jax.ShapeDtypeStruct((256,), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(layer)(*EXAMPLE))
