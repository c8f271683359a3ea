"""Exchange as few bytes as possible between eight devices: a solution."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(32, 1024), shape(1024, 4096), shape(4096, 1024))
MESH = {"model": 8}
START = (P(), P("model", None), P(None, "model"))


def start(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the output of two layers with a gelu between them, f32[32,1024]."""
    return jax.nn.gelu(x @ w) @ v


SPECS: tuple[P, ...] | None = (P(), P(None, "model"), P("model", None))


def better(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the same result as `start`, with any sharding, and with fewer bytes sent between devices."""
    columns: jax.Array = jax.lax.with_sharding_constraint(jax.nn.gelu(x @ w) @ v, P(None, "model"))
    return columns
