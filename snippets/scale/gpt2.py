"""A training step of GPT-2 with 124 million parameters and 12 unrolled blocks, compiled from shapes without any arrays.

Weights and AdamW's moments are f32 and donated; matmuls are bf16. A batch is 8 texts of 1,024 tokens, for one device.
"""

from typing import Any

import jax
import jax.numpy as jnp

type Params = dict[str, Any]

BLOCKS, WIDTH, HEADS, VOCABULARY, LENGTH, BATCH = 12, 768, 12, 50_257, 1024, 8


def norm(x: jax.Array, weights: Params) -> jax.Array:
    """Return layer-normalized activations of each token."""
    wide = x.astype(jnp.float32)
    wide = (wide - jnp.mean(wide, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(wide, -1, keepdims=True) + 1e-5)
    scaled: jax.Array = wide * weights["scale"] + weights["bias"]
    return scaled.astype(x.dtype)


def dense(x: jax.Array, weights: Params) -> jax.Array:
    """Return the product with a weight matrix, plus a bias, in the type of `x`."""
    product: jax.Array = x @ weights["matrix"].astype(x.dtype) + weights["bias"].astype(x.dtype)
    return product


def attend(x: jax.Array, weights: Params) -> jax.Array:
    """Return the projected output of causal self-attention: each token attends to itself and to earlier tokens."""
    batch, length, width = x.shape
    q, k, v = jnp.split(dense(x, weights["attend"]).reshape(batch, length, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(x.dtype), v)
    return dense(mixed.reshape(batch, length, width), weights["mix"])


def block(x: jax.Array, weights: Params) -> jax.Array:
    """Return the output of one transformer block."""
    x = x + attend(norm(x, weights["norm1"]), weights)
    return x + dense(jax.nn.gelu(dense(norm(x, weights["norm2"]), weights["up"])), weights["down"])


def loss(params: Params, tokens: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of predicting each text's next tokens."""
    embedded = params["tokens"].astype(jnp.bfloat16)
    x = embedded[tokens[:, :-1]] + params["positions"].astype(jnp.bfloat16)
    for weights in params["blocks"]:
        x = block(x, weights)
    logits = (norm(x, params["norm"]) @ embedded.T).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    mean: jax.Array = jnp.mean(jax.nn.logsumexp(logits, -1) - picked)
    return mean


def train_step(state: Params, tokens: jax.Array) -> tuple[Params, jax.Array]:
    """Return the state after one step of AdamW with a clipped gradient, and the loss."""
    value, slopes = jax.value_and_grad(loss)(state["params"], tokens)
    size = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(slopes)))
    slopes = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (size + 1e-6)), slopes)
    step = state["step"] + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], slopes)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, state["v"], slopes)

    def move(w: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        moved: jax.Array = m / (1 - 0.9**step) / (jnp.sqrt(v / (1 - 0.95**step)) + 1e-8)
        return w - 6e-4 * (moved + 0.1 * w)

    return {"params": jax.tree.map(move, state["params"], m, v), "m": m, "v": v, "step": step}, value


def shapes() -> Params:
    """Return the tree of the model's parameters as shapes of f32 arrays, without values."""

    def make(*size: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(size, jnp.float32)

    def matrix(inner: int, outer: int) -> Params:
        return {"matrix": make(inner, outer), "bias": make(outer)}

    scaled = {"scale": make(WIDTH), "bias": make(WIDTH)}
    one = {
        "norm1": scaled,
        "attend": matrix(WIDTH, 3 * WIDTH),
        "mix": matrix(WIDTH, WIDTH),
        "norm2": scaled,
        "up": matrix(WIDTH, 4 * WIDTH),
        "down": matrix(4 * WIDTH, WIDTH),
    }
    return {
        "tokens": make(VOCABULARY, WIDTH),
        "positions": make(LENGTH, WIDTH),
        "blocks": [one] * BLOCKS,
        "norm": scaled,
    }


EXAMPLE = (
    {**dict.fromkeys(("params", "m", "v"), shapes()), "step": jax.ShapeDtypeStruct((), jnp.int32)},
    jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32),
)
ARGUMENTS = {"donate_argnums": 0}
PROGRAMS = {"step": (train_step, EXAMPLE)}
"""The program of this file: `xla-inspect gpt2.py:step --target h100`."""
