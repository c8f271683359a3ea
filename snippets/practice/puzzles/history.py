"""Keep the states of a recurrence without moving those that are there.

`start(x)` keeps the last 64 states of a recurrence, as a window: each round drops the first row and appends the new
one. f32[64,512] -> f32[64,512]. After 64 rounds it holds all of them, and each round has moved the whole window.

The score is the bytes that a call reads and writes, on the CPU, with the rounds of loops counted. The program may
have 8 kernels at most, so it has to stay a loop.
"""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(64, 512),)


def start(x: jax.Array) -> jax.Array:
    """Return all states of a recurrence: f32[64,512] -> f32[64,512]."""

    def turn(window: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        state = jnp.tanh(row + 0.5 * window[-1:])
        return jnp.concatenate([window[1:], state]), None

    return jax.lax.scan(turn, jnp.zeros_like(x), x)[0]


def better(x: jax.Array) -> jax.Array:
    """Return the same."""
    raise NotImplementedError  # TODO(human): fewer bytes
