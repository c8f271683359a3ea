"""Compute again what would have to be kept.

`start(weights, x)` is the gradient of a loss with respect to the weights of sixteen layers: a list of f32[64,64], and
f32[4096,64]. Backwards it needs what every layer made, so all of that stays in memory.

The score is the memory that the program needs beside its arguments and its result, on the CPU. It may take half as many
operations again as `start`, and no more than 200 launches.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = ([shape(64, 64)] * 16, shape(4096, 64))


def layer(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return one layer: f32[4096,64], f32[64,64] -> f32[4096,64]."""
    return jnp.tanh(x @ w)


def loss(weights: Sequence[jax.Array], x: jax.Array) -> jax.Array:
    """Return the sum of the squares of what the last layer makes, f32[]."""
    for w in weights:
        x = layer(x, w)
    return jnp.sum(x * x)


def start(weights: Sequence[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Return the gradient of the loss with respect to the weights: f32[64,64] sixteen times."""
    return list(jax.grad(loss)(weights, x))


def better(weights: Sequence[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Return the same."""
    raise NotImplementedError  # TODO(human): less memory
