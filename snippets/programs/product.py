"""A matrix product and nothing else."""

import jax
import jax.numpy as jnp


def product(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x @ w, f32[64,256]."""
    return x @ w


EXAMPLE = (jax.ShapeDtypeStruct((64, 128), jnp.float32), jax.ShapeDtypeStruct((128, 256), jnp.float32))

if __name__ == "__main__":
    print(jax.make_jaxpr(product)(*EXAMPLE))
