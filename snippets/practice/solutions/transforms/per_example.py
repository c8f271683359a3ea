"""Compute the norm of each example's gradient without a loop: a solution."""

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


def norm(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the norm of one example's gradient: f32[6], f32[4] -> f32[]."""
    fields = jax.grad(loss)(params, x, y)
    return jnp.sqrt(sum((jnp.sum(field**2) for field in fields), jnp.zeros(())))


def norms(params: Params, xs: jax.Array, ys: jax.Array) -> jax.Array:
    """Return the norm of each example's gradient: f32[n,6], f32[n,4] -> f32[n]."""
    return jax.vmap(norm, in_axes=(None, 0, 0))(params, xs, ys)
