"""Look up rows without a single arithmetic operation.

`start(table, ids)` selects rows by a matmul with a matrix of zeros and ones: f32[4096,64], s32[32] -> f32[32,64]. Every
id is the number of a row, from 0 to 4095.

The score is the number of floating-point and integer operations on the CPU, according to XLA's cost model.
"""

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
    raise NotImplementedError  # TODO(human): fewer operations
