"""Write one row of a cache without reading or writing the rest: a solution."""

from functools import partial

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(4096, 128), shape(128), jax.ShapeDtypeStruct((), jnp.int32))


def start(cache: jax.Array, row: jax.Array, position: jax.Array) -> jax.Array:
    """Return a cache with one row replaced, f32[4096,128]."""
    is_row = jnp.arange(len(cache))[:, None] == position
    return jnp.where(is_row, row, cache)


@partial(jax.jit, donate_argnames="cache")
def better(cache: jax.Array, row: jax.Array, position: jax.Array) -> jax.Array:
    """Return the same result as `start`, with fewer bytes read and written."""
    return jax.lax.dynamic_update_slice(cache, row[None], (position, 0))
