"""Write only the new row. Why does each iteration copy the whole window?"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((64, 512), jnp.float32),)


def history(x: jax.Array) -> jax.Array:
    """Return all states of a recurrence, one after the other."""

    def step(window: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        state = jnp.tanh(row + 0.5 * window[-1:])
        return jnp.concatenate([window[1:], state]), None

    return jax.lax.scan(step, jnp.zeros_like(x), x)[0]
