"""A matmul as a Pallas kernel that Triton compiles, with tiles for which a block needs 72 KiB of shared memory."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

ROWS, COLUMNS, INNER = 64, 128, 64
SQUARES = (jax.ShapeDtypeStruct((512, 512), jnp.bfloat16), jax.ShapeDtypeStruct((512, 512), jnp.bfloat16))


def multiply_tiles(x: Any, y: Any, result: Any) -> None:  # noqa: ANN401 - references have no public type
    """Write one tile of the product, the sum of products of tiles."""

    def add(step: jax.Array, total: jax.Array) -> jax.Array:
        part = pl.ds(step * INNER, INNER)
        return total + jnp.dot(x[:, part], y[part, :], preferred_element_type=jnp.float32)

    total = jax.lax.fori_loop(0, x.shape[1] // INNER, add, jnp.zeros((ROWS, COLUMNS), jnp.float32))
    result[...] = total.astype(result.dtype)


def tiled_product(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return x @ y for matrices of bfloat16."""
    rows, inner = x.shape
    result: jax.Array = pl.pallas_call(
        multiply_tiles,
        out_shape=jax.ShapeDtypeStruct((rows, y.shape[1]), x.dtype),
        grid=(rows // ROWS, y.shape[1] // COLUMNS),
        in_specs=[
            pl.BlockSpec((ROWS, inner), lambda i, _: (i, 0)),
            pl.BlockSpec((inner, COLUMNS), lambda _, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((ROWS, COLUMNS), lambda i, j: (i, j)),
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=4),
    )(x, y)
    return result


if __name__ == "__main__":
    print(jax.make_jaxpr(tiled_product)(*SQUARES))
