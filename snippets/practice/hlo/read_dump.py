"""Read a dump: where are the fusions, the layouts and the constants?

Look at the CPU compiler's module for `program` before and after optimization:

    uv run xla-inspect show snippets/practice/hlo/read_dump.py:program --stage before
    uv run xla-inspect show snippets/practice/hlo/read_dump.py:program --stage after

Then answer four questions:

1. How many fusions does `ENTRY` launch after optimization?
2. The program returns a transposed matrix. In which layout does a fusion first compute it? Write the numbers between
   the braces after its shape as a tuple: `(1, 0)` for `f32[8,4]{1,0}`.
3. The caller expects another layout. Which instruction of `ENTRY` copies the matrix into that layout? Write its name
   without `%`.
4. Before optimization, one computation contains the constant `0.5`. How many computations contain it afterwards?

The check compiles `program` and compares your answers with the module.
"""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(128, 64), shape(64, 256), shape(256))


def program(x: jax.Array, w: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a scaled and transposed hidden layer, and its sums: f32[256,128], f32[256]."""
    hidden = jnp.tanh(x @ w) * 0.5
    return (hidden * scale).T, jnp.sum(hidden, axis=0)


FUSIONS: int | None = None  # TODO(human): question 1
LAYOUT: tuple[int, ...] | None = None  # TODO(human): question 2
RELAYOUT: str | None = None  # TODO(human): question 3
HALVES: int | None = None  # TODO(human): question 4
