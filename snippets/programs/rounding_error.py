"""The rounding error of bfloat16, with three ways to write the rounding, and a softmax that can return NaNs."""

import jax
import jax.numpy as jnp
import numpy as np


def rounding_error(x: jax.Array) -> jax.Array:
    """Return the error of rounding x to bfloat16, in float32."""
    return x - x.astype(jnp.bfloat16).astype(jnp.float32)


def with_reduce_precision(x: jax.Array) -> jax.Array:
    """Return the same error; the rounding is one operation of its own."""
    return x - jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)


def with_barrier(x: jax.Array) -> jax.Array:
    """Return the same error; no pass may move an operation over the barrier."""
    rounded: jax.Array = jax.lax.optimization_barrier(x.astype(jnp.bfloat16))
    return x - rounded.astype(jnp.float32)


def attend(scores: jax.Array, lengths: jax.Array) -> jax.Array:
    """Return the attention weights of each row over its first positions, as many as its length."""
    mask = jnp.arange(scores.shape[1]) < lengths[:, None]
    masked = jnp.where(mask, scores, -jnp.inf)
    return jax.nn.softmax(masked, axis=-1)


if __name__ == "__main__":
    x = jnp.asarray(np.random.default_rng(0).standard_normal(1024), jnp.float32)
    for function in (rounding_error, with_reduce_precision, with_barrier):
        print(function.__name__, jnp.abs(jax.jit(function)(x)).max())
