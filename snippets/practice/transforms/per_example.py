"""Compute the norm of each example's gradient without a loop.

For each example of a batch, `norms(params, xs, ys)` returns the Euclidean norm of the gradient of that example's loss
with respect to all parameters: f32[n,6], f32[n,4] -> f32[n]. `loss` is the loss of one example.

Gradient clipping for privacy needs such norms. `jax.grad` of the mean loss does not return them, because it adds up the
gradients of all examples.

The check traces `norms` for a small and a larger batch, counts the equations, and looks for loops.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Params(NamedTuple):
    """Weights and biases of the two layers."""

    w1: jax.Array  # f32[6,10]
    b1: jax.Array  # f32[10]
    w2: jax.Array  # f32[10,4]
    b2: jax.Array  # f32[4]


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean squared error of one example: f32[6], f32[4] -> f32[]."""
    hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
    return jnp.mean((hidden @ params.w2 + params.b2 - y) ** 2)


def norms(params: Params, xs: jax.Array, ys: jax.Array) -> jax.Array:
    """Return the norm of each example's gradient: f32[n,6], f32[n,4] -> f32[n]."""
    raise NotImplementedError  # TODO(human): grad of the loss, mapped over the examples
