"""Recompute values instead of storing them.

`start(weights, x)` is the gradient of a loss with respect to the weights of sixteen layers. Its arguments are a list of
f32[64,64] and f32[4096,64]. The backward pass needs the output of every layer, so all of them stay in memory.

The score is the temporary memory of the program on the CPU, which excludes its arguments and its result. The program
may use up to 1.5 times the operations of `start`, and at most 200 launches.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = ([shape(64, 64)] * 16, shape(4096, 64))


def layer(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return the output of one layer: f32[4096,64], f32[64,64] -> f32[4096,64]."""
    return jnp.tanh(x @ w)


def loss(weights: Sequence[jax.Array], x: jax.Array) -> jax.Array:
    """Return the sum of the squares of the last layer's output, f32[]."""
    for w in weights:
        x = layer(x, w)
    return jnp.sum(x * x)


def start(weights: Sequence[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Return the gradient of the loss with respect to the weights, sixteen arrays f32[64,64]."""
    return list(jax.grad(loss)(weights, x))


def better(weights: Sequence[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Return the same result as `start`, with less temporary memory."""
    raise NotImplementedError  # TODO(human): less memory
