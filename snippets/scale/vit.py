"""A training step of the vision transformer ViT-B/16, for one device, compiled from shapes without any arrays.

Weights and AdamW's moments are f32 and donated; matmuls are bf16. A batch is 64 images of 224 x 224 pixels. A scan
over the 12 layers processes 196 patches and a class token.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

type Params = dict[str, Any]

LAYERS, WIDTH, HEADS, HIDDEN, CLASSES, PATCH, SIZE, BATCH = 12, 768, 12, 3072, 1000, 16, 224, 64


def norm(x: jax.Array, weights: Params, name: str) -> jax.Array:
    """Return layer-normalized activations of each token."""
    wide = x.astype(jnp.float32)
    wide = (wide - jnp.mean(wide, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(wide, -1, keepdims=True) + 1e-6)
    scaled: jax.Array = wide * weights[f"{name}.scale"] + weights[f"{name}.bias"]
    return scaled.astype(x.dtype)


def dense(x: jax.Array, weights: Params, name: str) -> jax.Array:
    """Return the product with a weight matrix, plus a bias."""
    product: jax.Array = x @ weights[name].astype(x.dtype) + weights[f"{name}.bias"].astype(x.dtype)
    return product


def layer(x: jax.Array, weights: Params) -> tuple[jax.Array, None]:
    """Return the output of one layer, and None, for `jax.lax.scan`."""
    batch, length, width = x.shape
    projected = dense(norm(x, weights, "norm1"), weights, "attend")
    q, k, v = jnp.split(projected.reshape(batch, length, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / (width // HEADS) ** 0.5
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(x.dtype), v)
    x = x + dense(mixed.reshape(x.shape), weights, "mix")
    hidden = jax.nn.gelu(dense(norm(x, weights, "norm2"), weights, "up"), approximate=False)
    return x + dense(hidden, weights, "down"), None


def loss(params: Params, pictures: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of the class labels."""
    rows = SIZE // PATCH
    patches = pictures.astype(jnp.bfloat16).reshape(-1, rows, PATCH, rows, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    x = dense(patches.reshape(-1, rows * rows, PATCH * PATCH * 3), params, "patches")
    start = jnp.broadcast_to(params["class"].astype(x.dtype), (x.shape[0], 1, WIDTH))
    x = jnp.concatenate([start, x], 1) + params["positions"].astype(x.dtype)
    x, _ = jax.lax.scan(layer, x, params["layers"])
    logits = dense(norm(x[:, 0], params, "norm"), params, "head").astype(jnp.float32)
    picked = jnp.take_along_axis(logits, labels[:, None], -1)[:, 0]
    mean: jax.Array = jnp.mean(jax.nn.logsumexp(logits, -1) - picked)
    return mean


def train_step(state: Params, pictures: jax.Array, labels: jax.Array) -> tuple[Params, jax.Array]:
    """Return the state after one step of AdamW, and the loss."""
    value, slopes = jax.value_and_grad(loss)(state["params"], pictures, labels)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], slopes)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], slopes)

    def move(w: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return w - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + 0.3 * w)

    return {"params": jax.tree.map(move, state["params"], m, v), "m": m, "v": v}, value


def shapes() -> Params:
    """Return the tree of the parameters as shapes of f32 arrays, without values."""
    scaled = {"scale": (WIDTH,), "bias": (WIDTH,)}
    layers = {
        **{f"{name}.{part}": size for name in ("norm1", "norm2") for part, size in scaled.items()},
        "attend": (WIDTH, 3 * WIDTH),
        "attend.bias": (3 * WIDTH,),
        "mix": (WIDTH, WIDTH),
        "mix.bias": (WIDTH,),
        "up": (WIDTH, HIDDEN),
        "up.bias": (HIDDEN,),
        "down": (HIDDEN, WIDTH),
        "down.bias": (WIDTH,),
    }
    sizes = {
        "patches": (PATCH * PATCH * 3, WIDTH),
        "patches.bias": (WIDTH,),
        "class": (WIDTH,),
        "positions": ((SIZE // PATCH) ** 2 + 1, WIDTH),
        "norm.scale": (WIDTH,),
        "norm.bias": (WIDTH,),
        "head": (WIDTH, CLASSES),
        "head.bias": (CLASSES,),
        "layers": {name: (LAYERS, *size) for name, size in layers.items()},
    }
    make = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    params: Params = jax.tree.map(make, sizes, is_leaf=lambda leaf: isinstance(leaf, tuple))
    return params


EXAMPLE = (
    dict.fromkeys(("params", "m", "v"), shapes()),
    jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 3), jnp.float32),
    jax.ShapeDtypeStruct((BATCH,), jnp.int32),
)
ARGUMENTS = {"donate_argnums": 0}
PROGRAMS = {"step": (train_step, EXAMPLE)}
"""The program of this file: `xla-inspect vit.py:step --target tpu-v5e`."""
