"""Work that nobody needs: a product without a reader, an argument without a use, the same sine twice."""

import jax
import jax.numpy as jnp


def leftovers(x: jax.Array, _scale: jax.Array) -> jax.Array:
    """Return sin(x) + sin(x), f32[8,8]."""
    _unread = x @ x
    return jnp.sin(x) + jnp.sin(x)


EXAMPLE = (
    jax.ShapeDtypeStruct((8, 8), jnp.float32),
    jax.ShapeDtypeStruct((8,), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(leftovers)(*EXAMPLE))
