"""The MLP half of a transformer block: layer norm, two dense layers with a gelu between them, and a residual."""

import jax
import jax.numpy as jnp

from programs.gelu import gelu
from programs.layernorm import layernorm

EXAMPLE = (
    jax.ShapeDtypeStruct((64, 128), jnp.float32),  # x
    jax.ShapeDtypeStruct((128,), jnp.float32),  # scale
    jax.ShapeDtypeStruct((128,), jnp.float32),  # shift
    jax.ShapeDtypeStruct((128, 512), jnp.float32),  # w1
    jax.ShapeDtypeStruct((512,), jnp.float32),  # b1
    jax.ShapeDtypeStruct((512, 128), jnp.float32),  # w2
    jax.ShapeDtypeStruct((128,), jnp.float32),  # b2
)


def mlp_block(  # noqa: PLR0913, PLR0917 - a layer's parameters
    x: jax.Array,
    scale: jax.Array,
    shift: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
) -> jax.Array:
    """Return x plus two dense layers of its layer norm, in the shape of x: f32[64,128]."""
    hidden = gelu(layernorm(x, scale, shift) @ w1 + b1)
    return x + (hidden @ w2 + b2)


if __name__ == "__main__":
    print(jax.make_jaxpr(mlp_block)(*EXAMPLE))
