"""Compute the gradient of a loss with respect to all parameters at once.

`gradient(params, x, y)` returns a `Params` whose fields contain the derivatives of the loss with respect to each number
in `params`. `mlp` and `loss` are already written.

A reverse-mode gradient costs about three times as much as the loss, for any number of parameters. The check compares
the numbers with a gradient derived by hand, and the floating-point operations of the compiled program with those of the
loss alone.
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


def mlp(params: Params, x: jax.Array) -> jax.Array:
    """Return the output of the network for a batch: f32[8,6] -> f32[8,4]."""
    return jnp.maximum(x @ params.w1 + params.b1, 0.0) @ params.w2 + params.b2


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean squared error of a batch, f32[]."""
    return jnp.mean((mlp(params, x) - y) ** 2)


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


PARAMS = Params(shape(6, 10), shape(10), shape(10, 4), shape(4))  # type: ignore[arg-type]  # shapes serve as arrays
EXAMPLE = (PARAMS, shape(8, 6), shape(8, 4))


def gradient(params: Params, x: jax.Array, y: jax.Array) -> Params:
    """Return the gradient of the loss, with the structure of the parameters."""
    raise NotImplementedError  # TODO(human): one line
