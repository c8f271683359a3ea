"""Rows of a table that are added to, at places that are only known when the program runs."""

import jax
import jax.numpy as jnp


def scatter_update(table: jax.Array, rows: jax.Array, updates: jax.Array) -> jax.Array:
    """Return the table with each update added to the row it is for, f32[1024,64]; rows may repeat."""
    return table.at[rows].add(updates)


EXAMPLE = (
    jax.ShapeDtypeStruct((1024, 64), jnp.float32),
    jax.ShapeDtypeStruct((128,), jnp.int32),
    jax.ShapeDtypeStruct((128, 64), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(scatter_update)(*EXAMPLE))
