"""Store the states of a recurrence without moving the earlier ones: a solution."""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(64, 512),)


def start(x: jax.Array) -> jax.Array:
    """Return all states of a recurrence: f32[64,512] -> f32[64,512]."""

    def step(window: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        state = jnp.tanh(row + 0.5 * window[-1:])
        return jnp.concatenate([window[1:], state]), None

    return jax.lax.scan(step, jnp.zeros_like(x), x)[0]


def better(x: jax.Array) -> jax.Array:
    """Return the same result as `start`, with fewer bytes read and written."""

    def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(row + 0.5 * state)
        return state, state

    return jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1]
