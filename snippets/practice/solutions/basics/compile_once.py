"""Let a training loop compile its step once, although the learning rate changes: a solution."""

from collections.abc import Sequence

import jax


@jax.jit
def update(weights: jax.Array, gradient: jax.Array, rate: jax.Array | float) -> jax.Array:
    """Return the weights after a step: f32[256], f32[256], a rate -> f32[256]."""
    return weights - rate * gradient


def train(weights: jax.Array, gradients: Sequence[jax.Array], rates: Sequence[float]) -> jax.Array:
    """Return the weights after all steps: f32[256], any number of f32[256] and as many rates -> f32[256]."""
    for gradient, rate in zip(gradients, rates, strict=True):
        # The rate is an input of the program, and always of the same type.
        weights = update(weights, gradient, float(rate))
    return weights
