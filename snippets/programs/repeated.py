"""Sixteen equal layers: as a Python loop, which is traced sixteen times, and as a scan, which is traced once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

DEPTH = 16


def unrolled(x: jax.Array, w: jax.Array, depth: int = DEPTH) -> jax.Array:
    """Return x after tanh(x @ w), `depth` times, f32[64,64]."""
    for _ in range(depth):
        x = jnp.tanh(x @ w)
    return x


def scanned(x: jax.Array, w: jax.Array, depth: int = DEPTH) -> jax.Array:
    """Return the same result as `unrolled`, by a scan."""
    return jax.lax.scan(lambda x, _: (jnp.tanh(x @ w), None), x, length=depth)[0]


EXAMPLE = (jax.ShapeDtypeStruct((64, 64), jnp.float32), jax.ShapeDtypeStruct((64, 64), jnp.float32))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a Python loop": (unrolled, EXAMPLE),
    "`jax.lax.scan`": (scanned, EXAMPLE),
}


def lines_by_depth() -> dict[str, list[int]]:
    """Return the numbers of lines of StableHLO for 4 and for 40 layers, by the name of the loop."""
    counts: dict[str, list[int]] = {name: [] for name in PROGRAMS}
    for depth in (4, 40):
        for name, (function, example) in PROGRAMS.items():
            lowered = jax.jit(function, static_argnums=2).lower(*example, depth)
            counts[name].append(len(lowered.as_text().splitlines()))
    return counts


if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example))
