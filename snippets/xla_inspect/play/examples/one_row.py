"""Touch only one row of the cache. Why does the program read and write the whole cache?"""

import jax
import jax.numpy as jnp

CACHE, ROW = jax.ShapeDtypeStruct((4096, 128), jnp.float32), jax.ShapeDtypeStruct((128,), jnp.float32)
EXAMPLE = (CACHE, ROW, jax.ShapeDtypeStruct((), jnp.int32))


def write_row(cache: jax.Array, row: jax.Array, position: jax.Array) -> jax.Array:
    """Return the cache with the row at `position` replaced."""
    here = jnp.arange(len(cache))[:, None] == position
    return jnp.where(here, row, cache)
