"""Three lines whose result depends on where a compiler rounds."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def add_product(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Return a * b + c, f32[4096]: rounded once or twice."""
    return a * b + c


def there_and_back(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return (x + y) - x, bf16[4096]: the sum is rounded to bf16, or it is not."""
    return (x + y) - x


def exact_product(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x @ w in full float32 precision, f32[64,256]."""
    return jnp.matmul(x, w, precision="highest")


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a product and a sum": (add_product, (jax.ShapeDtypeStruct((4096,), jnp.float32),) * 3),
    "a sum in bfloat16": (there_and_back, (jax.ShapeDtypeStruct((4096,), jnp.bfloat16),) * 2),
    "an exact product": (
        exact_product,
        (jax.ShapeDtypeStruct((64, 128), jnp.float32), jax.ShapeDtypeStruct((128, 256), jnp.float32)),
    ),
}


def compared() -> dict[str, float]:
    """Return by name the differences of a * b + c between eager and jitted, and the mean error of each."""
    random = np.random.default_rng(0)
    a, b, c = (random.normal(size=4096).astype(np.float32) for _ in range(3))
    eagerly = np.asarray(add_product(*map(jnp.asarray, (a, b, c))))
    compiled = np.asarray(jax.jit(add_product)(a, b, c))
    exactly = a.astype(np.float64) * b + c
    return {
        "elements": eagerly.size,
        "different": int((eagerly != compiled).sum()),
        "largest difference": float(abs(eagerly - compiled).max()),
        "mean error eagerly": float(abs(eagerly - exactly).mean()),
        "mean error compiled": float(abs(compiled - exactly).mean()),
    }


if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example))
