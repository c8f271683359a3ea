"""Compute the gradient of a loss with respect to all parameters at once: a solution."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Params(NamedTuple):
    """Weights and biases of the two layers."""

    w1: jax.Array  # f32[6,10]
    b1: jax.Array  # f32[10]
    w2: jax.Array  # f32[10,4]
    b2: jax.Array  # f32[4]


def mlp(params: Params, x: jax.Array) -> jax.Array:
    """Return the output of the network for a batch: f32[8,6] -> f32[8,4]."""
    return jnp.maximum(x @ params.w1 + params.b1, 0.0) @ params.w2 + params.b2


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean squared error of a batch, f32[]."""
    return jnp.mean((mlp(params, x) - y) ** 2)


def gradient(params: Params, x: jax.Array, y: jax.Array) -> Params:
    """Return the gradient of the loss, with the structure of the parameters."""
    result: Params = jax.grad(loss)(params, x, y)
    return result
