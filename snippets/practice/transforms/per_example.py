"""Compute the norm of each example's gradient, without a loop.

`norms(params, xs, ys)` returns, for each example of a batch, the Euclidean norm of the gradient of its own loss with
respect to all parameters: f32[n,6] and f32[n,4] go in, f32[n] comes out. `loss` is that of one example.

Such norms are what clipping for privacy needs, and what `jax.grad` of the mean loss does not tell: there the gradients
are summed already.

The check traces `norms` for small batches and for larger ones, and counts the equations; and it looks for loops.
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
    """Return the mean square error of one example, f32[6], f32[4] -> f32[]."""
    hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
    return jnp.mean((hidden @ params.w2 + params.b2 - y) ** 2)


def norms(params: Params, xs: jax.Array, ys: jax.Array) -> jax.Array:
    """Return the norm of each example's gradient: f32[n,6], f32[n,4] -> f32[n]."""
    raise NotImplementedError  # TODO(human): grad of the loss, mapped over the examples
