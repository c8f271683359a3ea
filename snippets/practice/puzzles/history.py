"""Store the states of a recurrence without moving the earlier ones.

`start(x)` stores the last 64 states of a recurrence in a window: each iteration drops the first row and appends the
new one. f32[64,512] -> f32[64,512]. After 64 iterations the window contains all states, and each iteration has moved
the whole window.

The score is the bytes that a call reads and writes on the CPU, including all iterations of loops. The program may have
at most 8 kernels, so it has to remain a loop.
"""

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
    raise NotImplementedError  # TODO(human): fewer bytes
