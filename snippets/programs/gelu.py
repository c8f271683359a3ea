"""Exact GELU, written out with the error function."""

import jax
import jax.numpy as jnp


def gelu(x: jax.Array) -> jax.Array:
    """Return x / 2 * (1 + erf(x / sqrt 2)), f32[4,8]."""
    return x * 0.5 * (1.0 + jax.lax.erf(x / jnp.sqrt(2.0)))


EXAMPLE = (jax.ShapeDtypeStruct((4, 8), jnp.float32),)

if __name__ == "__main__":
    print(jax.make_jaxpr(gelu)(*EXAMPLE))
