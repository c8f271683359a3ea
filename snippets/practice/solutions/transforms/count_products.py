"""Predict how many matmuls `grad` and `vmap` add: a solution."""

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


LOSS: int | None = 2
GRADIENT: int | None = 5
WITH_INPUT: int | None = 6
PER_EXAMPLE: int | None = 5
