"""A training step of a decoder like Llama's with 7B or 70B parameters, compiled from shapes without any arrays.

It uses RMSNorm, rotary embeddings, grouped-query attention, SwiGLU and a scan over the layers. Weights and moments are
f32, and matmuls are bf16. The mesh has two axes: `fsdp`, over which weights and batch are sharded, and `tensor`.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

type Params = dict[str, Any]


@dataclass(frozen=True)
class Config:
    """The sizes of a model and its batch, and whether the backward pass recomputes each layer (`remat`)."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int = 32_000
    batch: int = 256
    length: int = 2048
    remat: bool = True


SMALL_7B = Config(32, 4096, 32, 32, 11_008)
LARGE_70B = Config(80, 8192, 64, 8, 28_672, batch=512, length=4096)


def rms(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return each token's activations, divided by their root mean square and scaled."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5) * scale).astype(x.dtype)


def rotate(x: jax.Array) -> jax.Array:
    """Return queries or keys with rotary position embeddings."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 10_000.0 ** (-jnp.arange(half) / half)
    sine, cosine = jnp.sin(angles)[None, :, None].astype(x.dtype), jnp.cos(angles)[None, :, None].astype(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cosine - second * sine, first * sine + second * cosine], -1)


def attend(x: jax.Array, weights: Params, config: Config) -> jax.Array:
    """Return the projected output of causal grouped-query attention."""
    batch, length, width = x.shape
    size = width // config.heads
    q = rotate((x @ weights["q"]).reshape(batch, length, config.heads, size))
    k = rotate((x @ weights["k"]).reshape(batch, length, config.kv_heads, size))
    v = (x @ weights["v"]).reshape(batch, length, config.kv_heads, size)
    q = q.reshape(batch, length, config.kv_heads, -1, size)
    scores = jnp.einsum("bqhgd,bkhd->bhgqk", q, k).astype(jnp.float32) / size**0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    shares = jax.nn.softmax(scores, -1).astype(x.dtype)
    mixed: jax.Array = jnp.einsum("bhgqk,bkhd->bqhgd", shares, v).reshape(batch, length, width) @ weights["o"]
    return mixed


def feed_forward(x: jax.Array, weights: Params) -> jax.Array:
    """Return the output of the SwiGLU feed-forward network for each token."""
    output: jax.Array = (jax.nn.silu(x @ weights["gate"]) * (x @ weights["up"])) @ weights["down"]
    return output


def layer(x: jax.Array, weights: Params, config: Config) -> jax.Array:
    """Return the output of one layer, with its weights converted to bf16."""
    weights = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), weights)
    x = x + attend(rms(x, weights["norm1"]), weights, config)
    return x + feed_forward(rms(x, weights["norm2"]), weights)


def by_example(x: jax.Array) -> jax.Array:
    """Return `x` constrained to be sharded by example; otherwise each device would compute the whole batch."""
    sharded: jax.Array = jax.lax.with_sharding_constraint(x, P("fsdp"))
    return sharded


def loss(params: Params, tokens: jax.Array, config: Config) -> jax.Array:
    """Return the mean cross-entropy of the next token."""
    x = by_example(params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]])

    def block(x: jax.Array, weights: Params) -> tuple[jax.Array, None]:
        return by_example(layer(x, weights, config)), None

    if config.remat:
        block = jax.checkpoint(block, policy=jax.checkpoint_policies.nothing_saveable)
    x, _ = jax.lax.scan(block, x, params["layers"])
    logits = (rms(x, params["norm"]) @ params["head"].astype(jnp.bfloat16)).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    mean: jax.Array = jnp.mean(jax.nn.logsumexp(logits, -1) - picked)
    return mean


def train_step(state: Params, tokens: jax.Array, config: Config) -> tuple[Params, jax.Array]:
    """Return the state after one step of AdamW, and the loss."""
    value, slopes = jax.value_and_grad(loss)(state["params"], tokens, config)

    def update(w: jax.Array, m: jax.Array, v: jax.Array, g: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
        return w - 3e-4 * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * w), m, v

    new = jax.tree.map(update, state["params"], state["m"], state["v"], slopes)
    parts = [jax.tree.map(lambda _, leaf, at=at: leaf[at], state["params"], new) for at in range(3)]
    return {"params": parts[0], "m": parts[1], "v": parts[2]}, value


def shapes(config: Config) -> tuple[Params, Params]:
    """Return two trees: the model's parameters as shapes of f32 arrays, and the `PartitionSpec` of each."""
    keyed = config.width * config.kv_heads // config.heads
    split = {"q": P(None, "fsdp", "tensor"), "o": P(None, "tensor", "fsdp")}
    sizes = {
        "q": (config.width, config.width),
        "k": (config.width, keyed),
        "v": (config.width, keyed),
        "o": (config.width, config.width),
        "gate": (config.width, config.hidden),
        "up": (config.width, config.hidden),
        "down": (config.hidden, config.width),
        "norm1": (config.width,),
        "norm2": (config.width,),
    }
    specs = {name: P() if name.startswith("norm") else split["o" if name in {"o", "down"} else "q"] for name in sizes}
    params = {
        "layers": {name: (config.layers, *size) for name, size in sizes.items()},
        "embed": (config.vocabulary, config.width),
        "head": (config.width, config.vocabulary),
        "norm": (config.width,),
    }
    sharded = {"layers": specs, "embed": P("tensor", "fsdp"), "head": P("fsdp", "tensor"), "norm": P()}
    make = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    return jax.tree.map(make, params, is_leaf=lambda leaf: isinstance(leaf, tuple)), sharded


@dataclass(frozen=True)
class Step:
    """A training step for `config`: `xla-inspect llama.py:step_7b --mesh fsdp=256,tensor=1 --target tpu-v5e:16x16`."""

    config: Config

    def function(self, state: Params, tokens: jax.Array) -> tuple[Params, jax.Array]:
        """Return the state after one step, and the loss."""
        return train_step(state, tokens, self.config)

    @property
    def example(self) -> tuple[Any, ...]:
        """The shapes of the arguments of `function`: the state, and a batch of tokens."""
        params, _ = shapes(self.config)
        tokens = jax.ShapeDtypeStruct((self.config.batch, self.config.length + 1), jnp.int32)
        return dict.fromkeys(("params", "m", "v"), params), tokens

    @property
    def arguments(self) -> dict[str, Any]:
        """The sharding of each argument (`specs`), and the number of the donated argument, the state."""
        _, specs = shapes(self.config)
        return {"specs": (dict.fromkeys(("params", "m", "v"), specs), P("fsdp")), "donate_argnums": 0}


PROGRAMS = {
    "step_small": Step(Config(4, 512, 8, 4, 1408, vocabulary=2048, batch=16, length=512, remat=False)),
    "step_7b": Step(SMALL_7B),
    "step_7b_one_host": Step(replace(SMALL_7B, batch=8)),
    "step_7b_all_saved": Step(replace(SMALL_7B, batch=32, length=4096, remat=False)),
    "step_70b": Step(LARGE_70B),
}
