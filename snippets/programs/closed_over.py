"""A table that a function closes over, and the same function with the table as an argument."""

import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.linspace(0.0, 1.0, 512 * 1024, dtype=np.float32).reshape(512, 1024)


def closed_over(x: jax.Array) -> jax.Array:
    """Return x @ sin(TABLE) for x, f32[64,512]; the table is a constant of the program."""
    return x @ jnp.sin(TABLE)


def passed_in(x: jax.Array, table: jax.Array) -> jax.Array:
    """Return x @ sin(table) for x, f32[64,512], and a table, f32[512,1024]."""
    return x @ jnp.sin(table)


EXAMPLE = (jax.ShapeDtypeStruct((64, 512), jnp.float32),)
PASSED = (*EXAMPLE, jax.ShapeDtypeStruct(TABLE.shape, jnp.float32))

if __name__ == "__main__":
    print(jax.jit(closed_over).lower(*EXAMPLE).as_text()[:400])
