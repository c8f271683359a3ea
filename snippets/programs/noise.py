"""Normal noise from a key: bits of a counter-based generator, turned into floats."""

import jax
import jax.numpy as jnp

SHAPE = (128, 256)


def noise(key: jax.Array) -> jax.Array:
    """Return independent samples of the standard normal distribution, f32[128,256]."""
    return jax.random.normal(jax.random.wrap_key_data(key), SHAPE)


EXAMPLE = (jax.ShapeDtypeStruct((2,), jnp.uint32),)

if __name__ == "__main__":
    print(jax.make_jaxpr(noise)(*EXAMPLE))
