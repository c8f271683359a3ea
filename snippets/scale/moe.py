"""A training step of a mixture of experts with the sizes of Mixtral 8x7B, compiled from shapes without any arrays.

Each token is routed to two of eight experts, which are sharded over the mesh axis `expert`; a full expert drops it.
Weights and batch are also sharded over `fsdp`. A scan over the layers recomputes each layer in the backward pass.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

type Params = dict[str, Any]

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY = 32, 4096, 32, 8, 14_336, 32_000
EXPERTS, CHOSEN, SPARE, BALANCE = 8, 2, 1.25, 0.02
BATCH, LENGTH = 256, 2048
EXAMPLES = P(("fsdp", "expert"))


def lay(x: jax.Array, spec: P) -> jax.Array:
    """Return `x` with a sharding constraint to `spec`."""
    array: jax.Array = jax.lax.with_sharding_constraint(x, spec)
    return array


def rms(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return each token's activations, divided by their root mean square and scaled."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5) * scale).astype(x.dtype)


def rotate(x: jax.Array) -> jax.Array:
    """Return queries or keys with rotary position embeddings."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 1e6 ** (-jnp.arange(half) / half)
    sine, cosine = jnp.sin(angles)[None, :, None].astype(x.dtype), jnp.cos(angles)[None, :, None].astype(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cosine - second * sine, first * sine + second * cosine], -1)


def attend(x: jax.Array, weights: Params) -> jax.Array:
    """Return the projected output of causal grouped-query attention."""
    batch, length, width = x.shape
    size = width // HEADS
    q = rotate((x @ weights["q"]).reshape(batch, length, HEADS, size)).reshape(batch, length, KV_HEADS, -1, size)
    k = rotate((x @ weights["k"]).reshape(batch, length, KV_HEADS, size))
    v = (x @ weights["v"]).reshape(batch, length, KV_HEADS, size)
    scores = jnp.einsum("bqhgd,bkhd->bhgqk", q, k).astype(jnp.float32) / size**0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhgqk,bkhd->bqhgd", jax.nn.softmax(scores, -1).astype(x.dtype), v)
    projected: jax.Array = mixed.reshape(batch, length, width) @ weights["o"]
    return projected


def route(x: jax.Array, router: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return each token's weight for each slot of each expert, [batch, length, expert, slot], and the imbalance."""
    odds = jax.nn.softmax(x.astype(jnp.float32) @ router, -1)
    best, chosen = jax.lax.top_k(odds, CHOSEN)
    best, chosen = (best / best.sum(-1, keepdims=True)).swapaxes(1, 2), chosen.swapaxes(1, 2)
    picked = jax.nn.one_hot(chosen, EXPERTS)
    # All first choices take slots before any second choice does.
    queue = picked.reshape(x.shape[0], -1, EXPERTS)
    ahead = ((jnp.cumsum(queue, 1) - queue).reshape(picked.shape) * picked).sum(-1)
    places = jax.nn.one_hot(ahead.astype(jnp.int32), int(SPARE * CHOSEN * x.shape[1] / EXPERTS), dtype=x.dtype)
    shares = jnp.einsum("bks,bkse,bksc->bsec", best.astype(x.dtype), picked.astype(x.dtype), places)
    imbalance = EXPERTS * jnp.mean(picked[:, 0].mean(1) * odds.mean(1))
    return shares, imbalance


def consult(x: jax.Array, weights: Params) -> tuple[jax.Array, jax.Array]:
    """Return the experts' weighted outputs for each token, and the imbalance of the routing."""
    shares, imbalance = route(x, weights["router"])
    tokens = lay(jnp.einsum("bsec,bsd->ebcd", (shares > 0).astype(x.dtype), x), P("expert", "fsdp"))
    gate = jax.nn.silu(jnp.einsum("ebcd,edh->ebch", tokens, weights["gate"]))
    outputs = jnp.einsum("ebch,ehd->ebcd", gate * jnp.einsum("ebcd,edh->ebch", tokens, weights["up"]), weights["down"])
    return lay(jnp.einsum("bsec,ebcd->bsd", shares, lay(outputs, P("expert", "fsdp"))), EXAMPLES), imbalance


@jax.checkpoint
def layer(x: jax.Array, weights: Params) -> tuple[jax.Array, jax.Array]:
    """Return the output of one layer, with all weights except the router's in bf16, and the imbalance."""
    weights = {name: leaf if name == "router" else leaf.astype(jnp.bfloat16) for name, leaf in weights.items()}
    x = lay(x + attend(rms(x, weights["norm1"]), weights), EXAMPLES)
    output, imbalance = consult(rms(x, weights["norm2"]), weights)
    return x + output, imbalance


def loss(params: Params, tokens: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of the next token, plus a penalty for imbalance."""
    x = lay(params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]], EXAMPLES)
    x, imbalance = jax.lax.scan(layer, x, params["layers"])
    logits = (rms(x, params["norm"]) @ params["head"].astype(jnp.bfloat16)).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    mean: jax.Array = jnp.mean(jax.nn.logsumexp(logits, -1) - picked) + BALANCE * jnp.mean(imbalance)
    return mean


def train_step(state: Params, tokens: jax.Array) -> tuple[Params, jax.Array]:
    """Return the state after one step of AdamW, and the loss."""
    value, slopes = jax.value_and_grad(loss)(state["params"], tokens)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], slopes)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, state["v"], slopes)

    def move(w: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return w - 3e-4 * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * w)

    return {"params": jax.tree.map(move, state["params"], m, v), "m": m, "v": v}, value


def shapes() -> tuple[Params, Params]:
    """Return two trees: the parameters as shapes of f32 arrays, and the `PartitionSpec` of each."""
    both, keyed = ("fsdp", "expert"), WIDTH * KV_HEADS // HEADS
    layers = {
        "norm1": ((WIDTH,), P()),
        "q": ((WIDTH, WIDTH), P(None, both)),
        "k": ((WIDTH, keyed), P(None, both)),
        "v": ((WIDTH, keyed), P(None, both)),
        "o": ((WIDTH, WIDTH), P(None, None, both)),
        "norm2": ((WIDTH,), P()),
        "router": ((WIDTH, EXPERTS), P()),
        "gate": ((EXPERTS, WIDTH, HIDDEN), P(None, "expert", "fsdp")),
        "up": ((EXPERTS, WIDTH, HIDDEN), P(None, "expert", "fsdp")),
        "down": ((EXPERTS, HIDDEN, WIDTH), P(None, "expert", None, "fsdp")),
    }
    others = {
        "embed": ((VOCABULARY, WIDTH), P(None, both)),
        "head": ((WIDTH, VOCABULARY), P(both)),
        "norm": ((WIDTH,), P()),
    }
    make = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    params: Params = {"layers": {name: make((LAYERS, *size)) for name, (size, _) in layers.items()}}
    params |= {name: make(size) for name, (size, _) in others.items()}
    specs: Params = {"layers": {name: spec for name, (_, spec) in layers.items()}}
    specs |= {name: spec for name, (_, spec) in others.items()}
    return params, specs


PARAMS, SPECS = shapes()
EXAMPLE = (dict.fromkeys(("params", "m", "v"), PARAMS), jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32))
ARGUMENTS = {"specs": (dict.fromkeys(("params", "m", "v"), SPECS), EXAMPLES), "donate_argnums": 0}
PROGRAMS = {"step": (train_step, EXAMPLE)}
"""The program of this file: `xla-inspect moe.py:step --mesh fsdp=8,expert=8 --target tpu-v5p:4x4x4`."""
