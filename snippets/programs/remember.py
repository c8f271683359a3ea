"""A small model step: a projection, standardized features, their similarities, and the update of a table's row."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def remember(table: jax.Array, x: jax.Array, w: jax.Array, slot: jax.Array) -> tuple[jax.Array, ...]:
    """Return the table with the first features in one row, the transposed features, and their similarities."""
    y = x @ w
    mean = y.mean(axis=-1, keepdims=True)
    std = y.std(axis=-1, keepdims=True)
    z = (y - mean) / std
    z = z / 16
    table = table.at[slot].set(z[0])
    alike = z @ z.T
    return table, z.T, alike


def remember_sharded(table: jax.Array, x: jax.Array, w: jax.Array, slot: jax.Array) -> tuple[jax.Array, ...]:
    """Return the same results as `remember`, with the rows of x sharded over the devices."""
    return remember(table, jax.lax.with_sharding_constraint(x, P("data", None)), w, slot)


EXAMPLE = (
    jax.ShapeDtypeStruct((4096, 256), jnp.float32),
    jax.ShapeDtypeStruct((512, 128), jnp.float32),
    jax.ShapeDtypeStruct((128, 256), jnp.float32),
    jax.ShapeDtypeStruct((), jnp.int32),
)
MESH = {"data": 4}

if __name__ == "__main__":
    print(jax.make_jaxpr(remember)(*EXAMPLE))
