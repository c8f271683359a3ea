"""Look up the rows without any arithmetic. Why does the lookup need a matmul?"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((4096, 64), jnp.float32), jax.ShapeDtypeStruct((32,), jnp.int32))


def look_up(table: jax.Array, ids: jax.Array) -> jax.Array:
    """Return the rows of a table with the numbers `ids`."""
    return jax.nn.one_hot(ids, table.shape[0]) @ table
