"""Small programs that readers ask about: one rounds on the way, one repeats and wastes work."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def through_bfloat16(x: jax.Array) -> jax.Array:
    """Return x converted to bfloat16 and back to float32, unless a compiler removes both conversions."""
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def wasteful(x: jax.Array) -> jax.Array:
    """Return 2 sin(x), with the sine written twice and a product that nobody uses."""
    _ = x @ x
    return jnp.sin(x) + jnp.sin(x)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "through bfloat16": (through_bfloat16, (jax.ShapeDtypeStruct((4,), jnp.float32),)),
    "wasteful": (wasteful, (jax.ShapeDtypeStruct((8, 8), jnp.float32),)),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example))
