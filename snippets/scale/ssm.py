"""A training step of a state space model with the sizes of Mamba-130M, compiled from shapes without any arrays.

Each layer's selective scan over time is a `jax.lax.associative_scan` in f32; projections are bf16. Weights and AdamW's
moments are f32 and donated. A batch is 8 texts of 1,024 tokens, for one device. A scan over the 24 layers recomputes
each layer in the backward pass, since the states of a selective scan are 16 times as large as the activations.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

type Params = dict[str, Any]

LAYERS, WIDTH, INNER, STATES, RANK, WINDOW, VOCABULARY = 24, 768, 1536, 16, 48, 4, 50_280
BATCH, LENGTH = 8, 1024


def rms(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return each token's activations, divided by their root mean square and scaled."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5) * scale).astype(x.dtype)


def dense(x: jax.Array, matrix: jax.Array) -> jax.Array:
    """Return the product with a weight matrix."""
    product: jax.Array = x @ matrix.astype(x.dtype)
    return product


def look_back(x: jax.Array, weights: Params) -> jax.Array:
    """Return SiLU of a causal convolution of each feature over the last four tokens, with a bias."""
    padded = jnp.pad(x, ((0, 0), (WINDOW - 1, 0), (0, 0)))
    kernel = weights["window"].astype(x.dtype)
    shifted = (padded[:, at : at + x.shape[1]] * kernel[at] for at in range(WINDOW))
    return jax.nn.silu(sum(shifted, weights["window.bias"].astype(x.dtype)))


def remember(x: jax.Array, weights: Params) -> jax.Array:
    """Return the result of the selective scan, whose steps and gates depend on each token."""
    chosen = dense(x, weights["choose"])
    step, into, out = jnp.split(chosen.astype(jnp.float32), (RANK, RANK + STATES), axis=-1)
    step = jax.nn.softplus(step @ weights["step"] + weights["step.bias"])
    wide = x.astype(jnp.float32)
    decay = jnp.exp(step[..., None] * -jnp.exp(weights["decay"]))
    update = (step * wide)[..., None] * into[:, :, None]

    def combine(left: tuple[jax.Array, jax.Array], right: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return left[0] * right[0], right[0] * left[1] + right[1]

    _, states = jax.lax.associative_scan(combine, (decay, update), axis=1)
    output: jax.Array = jnp.einsum("btis,bts->bti", states, out) + wide * weights["skip"]
    return output.astype(x.dtype)


@jax.checkpoint
def layer(x: jax.Array, weights: Params) -> tuple[jax.Array, None]:
    """Return the output of one layer, and None, for `jax.lax.scan`."""
    inner, gate = jnp.split(dense(rms(x, weights["norm"]), weights["in"]), 2, axis=-1)
    return x + dense(remember(look_back(inner, weights), weights) * jax.nn.silu(gate), weights["out"]), None


def loss(params: Params, tokens: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of the next token."""
    embedded = params["embed"].astype(jnp.bfloat16)
    x, _ = jax.lax.scan(layer, embedded[tokens[:, :-1]], params["layers"])
    logits = (rms(x, params["norm"]) @ embedded.T).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    mean: jax.Array = jnp.mean(jax.nn.logsumexp(logits, -1) - picked)
    return mean


def train_step(state: Params, tokens: jax.Array) -> tuple[Params, jax.Array]:
    """Return the state after one step of AdamW, and the loss."""
    value, slopes = jax.value_and_grad(loss)(state["params"], tokens)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], slopes)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, state["v"], slopes)

    def move(w: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return w - 6e-4 * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * w)

    return {"params": jax.tree.map(move, state["params"], m, v), "m": m, "v": v}, value


def shapes() -> Params:
    """Return the tree of the parameters as shapes of f32 arrays, without values."""
    layers = {
        "norm": (WIDTH,),
        "in": (WIDTH, 2 * INNER),
        "window": (WINDOW, INNER),
        "window.bias": (INNER,),
        "choose": (INNER, RANK + 2 * STATES),
        "step": (RANK, INNER),
        "step.bias": (INNER,),
        "decay": (INNER, STATES),
        "skip": (INNER,),
        "out": (INNER, WIDTH),
    }
    stacked = {name: (LAYERS, *size) for name, size in layers.items()}
    sizes = {"embed": (VOCABULARY, WIDTH), "layers": stacked, "norm": (WIDTH,)}
    make = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    params: Params = jax.tree.map(make, sizes, is_leaf=lambda leaf: isinstance(leaf, tuple))
    return params


EXAMPLE = (
    dict.fromkeys(("params", "m", "v"), shapes()),
    jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32),
)
ARGUMENTS = {"donate_argnums": 0}
PROGRAMS = {"step": (train_step, EXAMPLE)}
"""The program of this file: `xla-inspect ssm.py:step --target tpu-v5e`."""
