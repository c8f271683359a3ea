"""Compile the step of a training loop only once, although the learning rate changes.

The following code works, but it compiles `update` again for each rate:

    @partial(jax.jit, static_argnames="rate")
    def update(weights, gradient, rate):
        return weights - rate * gradient

    def train(weights, gradients, rates):
        for gradient, rate in zip(gradients, rates):
            weights = update(weights, gradient, rate)
        return weights

Write both functions so that all steps share one compiled program for any rates. The rates are Python numbers, floats
such as `0.1` and integers such as `1`.

The check counts the programs that JAX compiles during a first call of `train`, and during a second call with other
rates.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def update(weights: jax.Array, gradient: jax.Array, rate: jax.Array | float) -> jax.Array:
    """Return the weights after one step: f32[256], f32[256], rate -> f32[256]."""
    raise NotImplementedError  # TODO(human): write it and decorate it


def train(weights: jax.Array, gradients: Sequence[jax.Array], rates: Sequence[float]) -> jax.Array:
    """Return the weights after all steps: f32[256], a list of f32[256] and as many rates -> f32[256]."""
    raise NotImplementedError  # TODO(human): call `update` for each step
