"""Predict how many matmuls `grad` and `vmap` add.

`loss` is the mean squared error of a network with two layers. Write down the number of `dot_general` equations in its
jaxpr, and in the jaxprs of three programs that are derived from it:

1. `loss` itself;
2. `jax.grad(loss)`, the gradient with respect to the parameters;
3. `jax.grad(loss, argnums=(0, 1))`, the gradient with respect to the input too, as if it came from an earlier layer;
4. `jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))`, a gradient for each example of a batch, where `x` is f32[32,8,6].

The check traces the programs and shows their matmuls.
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
    """Return the mean squared error of a batch: f32[8,6], f32[8,4] -> f32[]."""
    hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
    return jnp.mean((hidden @ params.w2 + params.b2 - y) ** 2)


LOSS: int | None = None  # TODO(human): program 1
GRADIENT: int | None = None  # TODO(human): program 2
WITH_INPUT: int | None = None  # TODO(human): program 3
PER_EXAMPLE: int | None = None  # TODO(human): program 4
