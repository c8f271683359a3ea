"""Two layers with biases: relu between them, none after."""

import jax
import jax.numpy as jnp

EXAMPLE = (
    jax.ShapeDtypeStruct((256, 512), jnp.float32),  # x
    jax.ShapeDtypeStruct((512, 1024), jnp.float32),  # w1
    jax.ShapeDtypeStruct((1024,), jnp.float32),  # b1
    jax.ShapeDtypeStruct((1024, 256), jnp.float32),  # w2
    jax.ShapeDtypeStruct((256,), jnp.float32),  # b2
)


def mlp(x: jax.Array, w1: jax.Array, b1: jax.Array, w2: jax.Array, b2: jax.Array) -> jax.Array:
    """Apply a hidden layer with relu, then a linear one: shapes [256, 512] -> [256, 1024] -> [256, 256]."""
    hidden = jax.nn.relu(x @ w1 + b1)
    return hidden @ w2 + b2


if __name__ == "__main__":
    print(jax.make_jaxpr(mlp)(*EXAMPLE))
