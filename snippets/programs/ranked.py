"""Every row sorted, and the eight largest of every row with their positions."""

import jax
import jax.numpy as jnp

MOST = 8


def ranked(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the sorted rows, f32[16,256], the largest values, f32[16,8], and where they were, s32[16,8]."""
    values, places = jax.lax.top_k(x, MOST)
    return jnp.sort(x, axis=-1), values, places


EXAMPLE = (jax.ShapeDtypeStruct((16, 256), jnp.float32),)

if __name__ == "__main__":
    print(jax.make_jaxpr(ranked)(*EXAMPLE))
