"""Self-attention: three projections, scaled dot products, softmax, and a projection back."""

import math

import jax
import jax.numpy as jnp


def attention(x: jax.Array, wq: jax.Array, wk: jax.Array, wv: jax.Array, wo: jax.Array) -> jax.Array:
    """Return single-head self-attention over the second axis, in the shape of x: f32[2,16,64]."""
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
    weights = jax.nn.softmax(scores, axis=-1)
    mixed = jnp.einsum("bqk,bkd->bqd", weights, v)
    return mixed @ wo


WEIGHT = jax.ShapeDtypeStruct((64, 64), jnp.float32)

EXAMPLE = (jax.ShapeDtypeStruct((2, 16, 64), jnp.float32), WEIGHT, WEIGHT, WEIGHT, WEIGHT)

if __name__ == "__main__":
    print(jax.make_jaxpr(attention)(*EXAMPLE))
