"""Turn a table from a constant into an argument of the program.

`baked` looks up rows in `TABLE`, a constant of this file. The compiler gets the table as part of the program, so the
executable contains it, and another table needs another compilation.

    uv run xla-inspect show snippets/practice/hlo/constants.py:baked --stage after

Write `lookup(table, ids)`, which returns the same rows and takes the table as an argument: f32[512,64], s32[32] ->
f32[32,64].

The check looks for constants in the compiled program, and for the table among its parameters.
"""

import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.sin(np.arange(512 * 64, dtype=np.float32)).reshape(512, 64)
EXAMPLE = (jax.ShapeDtypeStruct((32,), jnp.int32),)


def baked(ids: jax.Array) -> jax.Array:
    """Return rows of the table, scaled: s32[32] -> f32[32,64]."""
    return jnp.asarray(TABLE)[ids] * 8.0


def lookup(table: jax.Array, ids: jax.Array) -> jax.Array:
    """Return rows of a table, scaled: f32[512,64], s32[32] -> f32[32,64]."""
    raise NotImplementedError  # TODO(human): read only the arguments
