"""A transformer block: self-attention and a two-layer MLP, each after a layer norm and around a residual."""

import jax
import jax.numpy as jnp

HEADS = 4

Parameters = dict[str, jax.Array]


def normalize(x: jax.Array) -> jax.Array:
    """Return x with mean 0 and variance 1 along the last axis."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5)


def attend(x: jax.Array, p: Parameters) -> jax.Array:
    """Return multi-head self-attention over the second axis, in the shape of x."""
    batch, length, width = x.shape
    q, k, v = (jnp.reshape(x @ p[name], (batch, length, HEADS, width // HEADS)) for name in ("q", "k", "v"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(width // HEADS)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return jnp.reshape(mixed, x.shape) @ p["o"]


def transformer_block(x: jax.Array, p: Parameters) -> jax.Array:
    """Return the block's output, in the shape of x: f32[2,64,128]."""
    x = x + attend(normalize(x), p)
    hidden = jax.nn.gelu(normalize(x) @ p["up"])
    return x + hidden @ p["down"]


def weight(*shape: int) -> jax.ShapeDtypeStruct:
    """Return the shape of one float32 weight."""
    return jax.ShapeDtypeStruct(shape, jnp.float32)


EXAMPLE = (
    jax.ShapeDtypeStruct((2, 64, 128), jnp.float32),
    {
        "q": weight(128, 128),
        "k": weight(128, 128),
        "v": weight(128, 128),
        "o": weight(128, 128),
        "up": weight(128, 512),
        "down": weight(512, 128),
    },
)

if __name__ == "__main__":
    print(jax.make_jaxpr(transformer_block)(*EXAMPLE))
