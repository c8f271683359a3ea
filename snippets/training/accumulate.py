"""A recurrence that fills an array: each trip of the loop reads one element and writes the next."""

import jax
import jax.numpy as jnp
from jax import lax

LENGTH = 200_000


def accumulate(start: jax.Array) -> jax.Array:
    """Return the 200,000 values of the recurrence that begins with `start`."""

    def body(t: jax.Array, values: jax.Array) -> jax.Array:
        return values.at[t + 1].set(0.9 * values[t] + 1.0)

    filled: jax.Array = lax.fori_loop(0, LENGTH - 1, body, jnp.zeros(LENGTH).at[0].set(start))
    return filled


EXAMPLE = (jax.ShapeDtypeStruct((), jnp.float32),)
