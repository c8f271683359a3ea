"""Compile the step of a training loop only once, although the learning rate changes: a solution."""

from collections.abc import Sequence

import jax


@jax.jit
def update(weights: jax.Array, gradient: jax.Array, rate: jax.Array | float) -> jax.Array:
    """Return the weights after one step: f32[256], f32[256], rate -> f32[256]."""
    return weights - rate * gradient


def train(weights: jax.Array, gradients: Sequence[jax.Array], rates: Sequence[float]) -> jax.Array:
    """Return the weights after all steps: f32[256], a list of f32[256] and as many rates -> f32[256]."""
    for gradient, rate in zip(gradients, rates, strict=True):
        # A traced rate of one type is an input of the program, so its value is not part of the key.
        weights = update(weights, gradient, float(rate))
    return weights
