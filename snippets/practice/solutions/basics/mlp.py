"""Write a two-layer network as a pure function and jit it: a solution."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Params(NamedTuple):
    """Weights and biases of the two layers."""

    w1: jax.Array  # f32[64,128]
    b1: jax.Array  # f32[128]
    w2: jax.Array  # f32[128,16]
    b2: jax.Array  # f32[16]


@jax.jit
def mlp(params: Params, x: jax.Array) -> jax.Array:
    """Return the output of the network for a batch: f32[32,64] -> f32[32,16]."""
    hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
    return hidden @ params.w2 + params.b2
