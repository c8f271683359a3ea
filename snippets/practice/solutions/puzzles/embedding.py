"""Look up rows without a single arithmetic operation: a solution."""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(4096, 64), jax.ShapeDtypeStruct((32,), jnp.int32))


def start(table: jax.Array, ids: jax.Array) -> jax.Array:
    """Return rows of a table: f32[4096,64], s32[32] -> f32[32,64]."""
    return jax.nn.one_hot(ids, table.shape[0]) @ table


def better(table: jax.Array, ids: jax.Array) -> jax.Array:
    """Return the same result as `start`, with fewer arithmetic operations."""
    return jnp.take(table, ids, axis=0, mode="clip")
