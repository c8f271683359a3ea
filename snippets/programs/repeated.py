"""Sixteen equal layers: as a Python loop, which is traced sixteen times, and as a scan, which is traced once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

DEPTH = 16


def unrolled(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x after tanh(x @ w), sixteen times, f32[64,64]."""
    for _ in range(DEPTH):
        x = jnp.tanh(x @ w)
    return x


def scanned(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return the same by a scan."""
    return jax.lax.scan(lambda x, _: (jnp.tanh(x @ w), None), x, length=DEPTH)[0]


EXAMPLE = (jax.ShapeDtypeStruct((64, 64), jnp.float32), jax.ShapeDtypeStruct((64, 64), jnp.float32))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a Python loop": (unrolled, EXAMPLE),
    "`jax.lax.scan`": (scanned, EXAMPLE),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example))
