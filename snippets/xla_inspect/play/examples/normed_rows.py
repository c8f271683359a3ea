"""Read the rows as rarely as possible. How often does the program read them?"""

import jax
import jax.numpy as jnp

ROWS, GAIN = jax.ShapeDtypeStruct((512, 1024), jnp.float32), jax.ShapeDtypeStruct((1024,), jnp.float32)
EXAMPLE = (ROWS, GAIN, GAIN)


def norm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    """Return each row less its mean, over its standard deviation, scaled and shifted."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift
