"""Recompute half of the values that the gradient stores for the backward pass. Which values does it store?"""

import jax
import jax.numpy as jnp

EXAMPLE = ([jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 16, jax.ShapeDtypeStruct((4096, 64), jnp.float32))


def layer(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return the output of one layer."""
    return jnp.tanh(x @ w)


def loss(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    """Return the sum of the squares of the last layer's output."""
    for w in weights:
        x = layer(x, w)
    return jnp.sum(x * x)


def gradients(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Return the gradient of the loss with respect to the weights."""
    return list(jax.grad(loss)(weights, x))
