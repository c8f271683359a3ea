"""A decoder with the choices that change the time of its training step, compiled from shapes without any arrays.

The mesh has two axes: `fsdp`, over which the batch
and the weights are sharded, and `tensor`. The layers are scanned, and matmuls are bf16.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

from published.kernels import HEADS, attend_in_blocks, attend_plainly, attend_with_triton
from scale.llama import rms, rotate

type Params = dict[str, Any]
type Shapes = dict[str, tuple[int, ...]]

CORES = {"plain": attend_plainly, "splash": attend_in_blocks, "triton": attend_with_triton}
DOTS = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
BETWEEN = {"": P("fsdp"), "sequence": P("fsdp", "tensor"), "width": P("fsdp", None, "tensor")}
PROJECTED = ("query", "key", "value")


@dataclass(frozen=True)
class Decoder:
    """The sizes of a model and its batch, and the choices that change the time of a step.

    Attributes:
        size: The size of a head.
        batch: The number of sequences of all devices.
        kv_heads: The number of heads of keys and values, or 0 for as many as there are queries.
        gated: The feed-forward network has a gate (SwiGLU) instead of two matrices with an activation between them.
        tied: The input embedding also computes the logits.
        gpt: The model has biases, LayerNorm and learned positions instead of RMSNorm and rotary positions.
        positions: The number of learned positions, or 0 for `length`.
        attention: `plain` (materialized scores), `splash` (a kernel for TPUs) or `triton` (a kernel for GPUs).
        remat: `none`, `full` (recompute each layer), `dots` (save matmuls), `core` (recompute attention between its
            projections), `around` (save matmuls or `names`, and never recompute attention itself), `save` or `offload`
            (save the values that `names` lists, on the device or on the host, and recompute the others).
        names: The names of saved values.
        split: The weights are sharded. Otherwise, each device has a copy.
        unrolled: The program repeats the code of a layer instead of a loop over the layers.
        between: The axis along which activations are sharded over `tensor` between the matmuls: `sequence`, `width`, or
            none.
        dtypes: The types of the weights and of both moments.
    """

    layers: int
    width: int
    heads: int
    size: int
    hidden: int
    vocabulary: int
    batch: int
    length: int
    kv_heads: int = 0
    gated: bool = True
    tied: bool = False
    gpt: bool = False
    positions: int = 0
    attention: str = "plain"
    remat: str = "none"
    names: tuple[str, ...] = ()
    split: bool = True
    unrolled: bool = False
    between: str = ""
    dtypes: tuple[Any, Any, Any] = (jnp.float32,) * 3


def shard(x: jax.Array, model: Decoder) -> jax.Array:
    """Return activations constrained to be sharded by example, and along the axis that the model names."""
    sharded: jax.Array = jax.lax.with_sharding_constraint(x, BETWEEN[model.between])
    return sharded


def normalize(x: jax.Array, weights: Params, name: str, model: Decoder) -> jax.Array:
    """Return each token's activations after LayerNorm or RMSNorm."""
    if not model.gpt:
        return rms(x, weights[name])
    wide = x.astype(jnp.float32)
    wide = (wide - jnp.mean(wide, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(wide, -1, keepdims=True) + 1e-5)
    scaled: jax.Array = wide * weights[name] + weights[f"{name}_bias"]
    return scaled.astype(x.dtype)


def project(x: jax.Array, weights: Params, name: str, model: Decoder) -> jax.Array:
    """Return the product with a weight matrix, and add its bias in a GPT."""
    product: jax.Array = x @ weights[name]
    return product + weights[f"{name}_bias"] if model.gpt else product


def shard_heads(x: jax.Array, model: Decoder) -> jax.Array:
    """Return values constrained to be sharded by head if activations between the matmuls are sharded by position."""
    sharded: jax.Array = jax.lax.with_sharding_constraint(x, HEADS) if model.between == "sequence" else x
    return sharded


def prepare(x: jax.Array, weights: Params, model: Decoder) -> tuple[jax.Array, ...]:
    """Return the queries, keys and values of normalized activations."""
    x = normalize(x, weights, "norm1", model)
    heads = (*x.shape[:2], -1, model.size)
    q, k, v = (project(x, weights, name, model).reshape(heads) for name in ("q", "k", "v"))
    if not model.gpt:
        q, k = rotate(q), rotate(k)
    return tuple(
        checkpoint_name(shard_heads(value, model), name) for value, name in zip((q, k, v), PROJECTED, strict=True)
    )


def feed_forward(x: jax.Array, weights: Params, model: Decoder) -> jax.Array:
    """Return the output of the feed-forward network for each token."""
    inner = project(x, weights, "up", model)
    if model.gated:
        inner = jax.nn.silu(x @ weights["gate"]) * inner
    else:
        inner = jax.nn.gelu(inner) if model.gpt else jax.nn.relu(inner)
    return project(inner, weights, "down", model)


def finish(x: jax.Array, mixed: jax.Array, weights: Params, model: Decoder) -> jax.Array:
    """Return the output of a layer from its input and the mixed values of attention."""
    output = checkpoint_name(project(mixed.reshape(*x.shape[:2], -1), weights, "o", model), "out")
    x = shard(x + output, model)
    return shard(x + feed_forward(normalize(x, weights, "norm2", model), weights, model), model)


def layer(x: jax.Array, weights: Params, model: Decoder) -> jax.Array:
    """Return the output of one layer, with its weights converted to bf16."""
    weights = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), weights)
    x = checkpoint_name(x, "input")
    before: Any = partial(prepare, model=model)
    core: Any = CORES[model.attention]
    after: Any = partial(finish, model=model)
    if model.remat == "core":
        core = jax.checkpoint(core)
    if model.remat == "around":
        policy = jax.checkpoint_policies.save_only_these_names(*model.names) if model.names else DOTS
        before, after = jax.checkpoint(before, policy=policy), jax.checkpoint(after, policy=policy)
    output: jax.Array = after(x, shard_heads(core(*before(x, weights)), model), weights)
    return output


def rematerialize(block: Any, model: Decoder) -> Any:  # noqa: ANN401 - a function of a scan
    """Return a layer that saves for its backward pass only what the model's policy allows."""
    policies = {
        "full": jax.checkpoint_policies.nothing_saveable,
        "dots": DOTS,
        "save": jax.checkpoint_policies.save_only_these_names(*model.names),
        "offload": jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=[],
            names_which_can_be_offloaded=list(model.names),
            offload_src="device",
            offload_dst="pinned_host",
        ),
    }
    return jax.checkpoint(block, policy=policies[model.remat]) if model.remat in policies else block


def loss(params: Params, tokens: jax.Array, model: Decoder) -> jax.Array:
    """Return the mean cross-entropy of the next token."""
    embed = params["embed"].astype(jnp.bfloat16)
    x = embed[tokens[:, :-1]]
    if model.gpt:
        x = x + params["positions"].astype(jnp.bfloat16)[: model.length]

    def block(x: jax.Array, weights: Params) -> tuple[jax.Array, None]:
        return layer(x, weights, model), None

    x, _ = jax.lax.scan(rematerialize(block, model), shard(x, model), params["layers"], unroll=model.unrolled)
    head = embed.T if model.tied else params["head"].astype(jnp.bfloat16)
    logits = (normalize(x, params, "norm", model) @ head).astype(jnp.float32)
    # A mask instead of a gather: its gradient is no scatter, so no logits in f32 are stored.
    chosen = jnp.arange(model.vocabulary) == tokens[:, 1:, None]
    picked = jnp.sum(jnp.where(chosen, logits, 0), -1)
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)


def train_step(state: Params, tokens: jax.Array, model: Decoder) -> tuple[Params, jax.Array]:
    """Return the state after one step of AdamW, and the loss."""
    value, slopes = jax.value_and_grad(loss)(state["params"], tokens, model)

    def update(w: jax.Array, m: jax.Array, v: jax.Array, g: jax.Array) -> tuple[jax.Array, ...]:
        m_new, v_new = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
        w_new = w - 3e-4 * (m_new / (jnp.sqrt(v_new) + 1e-8) + 0.1 * w)
        return w_new.astype(w.dtype), m_new.astype(m.dtype), v_new.astype(v.dtype)

    new = jax.tree.map(update, state["params"], state["m"], state["v"], slopes)
    parts = [jax.tree.map(lambda _, leaf, at=at: leaf[at], state["params"], new) for at in range(3)]
    return {"params": parts[0], "m": parts[1], "v": parts[2]}, value


def shapes(model: Decoder) -> tuple[Shapes, Shapes]:
    """Return the shapes of one layer's weights, and those of the other weights, by name."""
    queries, keys = model.heads * model.size, (model.kv_heads or model.heads) * model.size
    width, hidden = model.width, model.hidden
    matrices: Shapes = {"q": (width, queries), "k": (width, keys), "v": (width, keys), "o": (queries, width)}
    matrices |= {"up": (width, hidden), "down": (hidden, width)} | ({"gate": (width, hidden)} if model.gated else {})
    vectors: Shapes = {"norm1": (width,), "norm2": (width,)}
    others: Shapes = {"embed": (model.vocabulary, width), "norm": (width,)}
    others |= {} if model.tied else {"head": (width, model.vocabulary)}
    if model.gpt:
        vectors |= {f"{name}_bias": shape[-1:] for name, shape in (matrices | vectors).items()}
        others |= {"norm_bias": (width,), "positions": (model.positions or model.length, width)}
    return matrices | vectors, others


def specs(model: Decoder) -> Params:
    """Return the `PartitionSpec` of each weight."""
    inner, others = shapes(model)
    if not model.split:
        return {"layers": dict.fromkeys(inner, P()), **dict.fromkeys(others, P())}
    rows, columns = P(None, "tensor", "fsdp"), P(None, "fsdp", "tensor")
    layers = {
        name: P() if len(shape) == 1 else rows if name in {"o", "down"} else columns for name, shape in inner.items()
    }
    large = {"embed": P("tensor", "fsdp"), "head": P("fsdp", "tensor"), "positions": P(None, "fsdp")}
    return {"layers": layers, **{name: large.get(name, P()) for name in others}}


@dataclass(frozen=True)
class Step:
    """A training step: `xla-inspect decoder.py:v5e_16b --target tpu-v5e:16x16 --mesh fsdp=256,tensor=1`."""

    model: Decoder

    def function(self, state: Params, tokens: jax.Array) -> tuple[Params, jax.Array]:
        """Return the state after one step, and the loss."""
        return train_step(state, tokens, self.model)

    @property
    def example(self) -> tuple[Any, ...]:
        """The shapes of the arguments of `function`: the state, and a batch of tokens."""
        inner, others = shapes(self.model)
        sizes = {"layers": {name: (self.model.layers, *shape) for name, shape in inner.items()}, **others}
        trees = [
            jax.tree.map(
                partial(jax.ShapeDtypeStruct, dtype=dtype), sizes, is_leaf=lambda leaf: isinstance(leaf, tuple)
            )
            for dtype in self.model.dtypes
        ]
        tokens = jax.ShapeDtypeStruct((self.model.batch, self.model.length + 1), jnp.int32)
        return dict(zip(("params", "m", "v"), trees, strict=True)), tokens

    @property
    def arguments(self) -> dict[str, Any]:
        """The sharding of each argument (`specs`), and the number of the donated argument, the state."""
        return {"specs": (dict.fromkeys(("params", "m", "v"), specs(self.model)), P("fsdp")), "donate_argnums": 0}


@dataclass(frozen=True)
class Layer:
    """The forward and the backward pass of one layer, without an update."""

    model: Decoder

    def function(self, weights: Params, x: jax.Array, slopes: jax.Array) -> tuple[Any, ...]:
        """Return the layer's output, and the gradients of its weights and its input."""
        output, backward = jax.vjp(rematerialize(partial(layer, model=self.model), self.model), x, weights)
        return output, *backward(slopes)

    @property
    def example(self) -> tuple[Any, ...]:
        """The shapes of the arguments of `function`: weights, activations, and slopes of the output."""
        inner, _ = shapes(self.model)
        x = jax.ShapeDtypeStruct((self.model.batch, self.model.length, self.model.width), jnp.bfloat16)
        return {name: jax.ShapeDtypeStruct(shape, jnp.bfloat16) for name, shape in inner.items()}, x, x

    @property
    def arguments(self) -> dict[str, Any]:
        """The sharding of each argument."""
        activations = BETWEEN[self.model.between]
        layers = {name: P(*spec[1:]) for name, spec in specs(self.model)["layers"].items()}
        return {"specs": (layers, activations, activations)}
