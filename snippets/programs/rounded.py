"""Two lines whose result depends on where a compiler rounds."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def add_product(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Return a * b + c, f32[4096]: rounded once or twice."""
    return a * b + c


def there_and_back(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return (x + y) - x, bf16[4096]: the sum is rounded to bf16, or it is not."""
    return (x + y) - x


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a product and a sum": (add_product, (jax.ShapeDtypeStruct((4096,), jnp.float32),) * 3),
    "a sum in bfloat16": (there_and_back, (jax.ShapeDtypeStruct((4096,), jnp.bfloat16),) * 2),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example))
