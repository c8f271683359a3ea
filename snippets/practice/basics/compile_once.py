"""Let a training loop compile its step once, although the learning rate changes.

This works, and compiles `update` again for each rate:

    @partial(jax.jit, static_argnames="rate")
    def update(weights, gradient, rate):
        return weights - rate * gradient

    def train(weights, gradients, rates):
        for gradient, rate in zip(gradients, rates):
            weights = update(weights, gradient, rate)
        return weights

Write both so that all steps share one compiled program, whatever the rates are. They come as Python numbers: `0.1`,
but also `1`.

The check counts compiles: what JAX compiles during the first call of `train`, and during a second one with other
rates.
"""

from collections.abc import Sequence

import jax


def update(weights: jax.Array, gradient: jax.Array, rate: jax.Array | float) -> jax.Array:
    """Return the weights after a step: f32[256], f32[256], a rate -> f32[256]."""
    raise NotImplementedError  # TODO(human): decorate it, too


def train(weights: jax.Array, gradients: Sequence[jax.Array], rates: Sequence[float]) -> jax.Array:
    """Return the weights after all steps: f32[256], any number of f32[256] and as many rates -> f32[256]."""
    raise NotImplementedError  # TODO(human): call `update` for each step
