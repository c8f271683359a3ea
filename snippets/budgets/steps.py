"""Two steps that a file of budgets holds: a normalization, and a cache that takes a row."""

import jax


def normalize(x: jax.Array, gain: jax.Array) -> jax.Array:
    """Return rows of mean zero and variance one, scaled."""
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain


def remember(cache: jax.Array, row: jax.Array, place: jax.Array) -> jax.Array:
    """Return a cache with a row written at a place."""
    return jax.lax.dynamic_update_slice(cache, row, (place, 0))
