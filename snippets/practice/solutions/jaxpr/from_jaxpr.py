"""Write the function whose trace is this jaxpr: a solution."""

import jax
import jax.numpy as jnp


def original(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the result of the jaxpr: f32[16,8], f32[8,4] -> f32[16,4]."""
    d = jnp.tanh(a @ b)
    return d / jnp.sqrt(jnp.sum(d * d, axis=1, keepdims=True))
