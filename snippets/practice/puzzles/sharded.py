"""Exchange as few bytes as possible between eight devices.

`start(x, w, v)` computes two layers: f32[32,1024], f32[1024,4096], f32[4096,1024] -> f32[32,1024]. Eight devices
compute it together. Each stores an eighth of `w`, an eighth of `v` and all of `x`, as specified in `START`. If a matmul
needs numbers from other devices, the devices exchange them.

Write `SPECS`, the shardings of `x`, `w` and `v` over the axis `model`, and `better`, which computes the same result.
`better` may use `jax.lax.with_sharding_constraint` to choose the sharding of a value. The next layer accepts any
sharding of the result. No device may store more than with `START`.

The score is the bytes that each device sends, on eight H100s if their compiler is installed, else on eight CPUs.
"""

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


SPECS: tuple[P, ...] | None = None  # TODO(human): the shardings of x, w and v


def better(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the same result as `start`, with any sharding, and with fewer bytes sent between devices."""
    raise NotImplementedError  # TODO(human): start from a copy of `start`
