"""Layer norm over the last axis, with a learned scale and shift."""

import jax
import jax.numpy as jnp


def layernorm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    """Return x with mean 0 and variance 1 along the last axis, scaled and shifted: f32[128,1024]."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift


EXAMPLE = (
    jax.ShapeDtypeStruct((128, 1024), jnp.float32),
    jax.ShapeDtypeStruct((1024,), jnp.float32),
    jax.ShapeDtypeStruct((1024,), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(layernorm)(*EXAMPLE))
