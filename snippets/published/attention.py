"""Attention of queries, keys and values, by XLA's own fusions and by kernels for TPUs and GPUs.

The arguments have the axes example, position, head and size. There may be fewer heads of keys and values.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask
from jax.sharding import PartitionSpec as P

BLOCK = 512
HEADS = P("fsdp", None, "tensor")


def attend_plainly(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = True) -> jax.Array:
    """Return attention with scores that are materialized in f32."""
    batch, length, heads, size = q.shape
    q = q.reshape(batch, length, k.shape[2], heads // k.shape[2], size)
    scores = jnp.einsum("bqhgd,bkhd->bhgqk", q, k).astype(jnp.float32) / size**0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    shares = jax.nn.softmax(scores, -1).astype(v.dtype)
    mixed: jax.Array = jnp.einsum("bhgqk,bkhd->bqhgd", shares, v)
    return mixed.reshape(batch, length, heads, size)


def attend_in_blocks(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return causal attention by splash attention, a Pallas kernel for TPUs, on each device's examples and heads."""
    names = ("q", "kv", "kv_compute", "q_dkv", "kv_dkv", "kv_dkv_compute", "q_dq", "kv_dq")
    sizes: dict[str, Any] = {f"block_{name}": min(BLOCK, q.shape[1]) for name in names}
    blocks = splash_attention_kernel.BlockSizes(**sizes)

    @partial(jax.shard_map, in_specs=(HEADS,) * 3, out_specs=HEADS, check_vma=False)
    def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> Any:  # noqa: ANN401 - the kernel has no types
        masks = [splash_attention_mask.CausalMask((q.shape[1],) * 2)] * q.shape[2]
        kernel = splash_attention_kernel.make_splash_mha(
            mask=splash_attention_mask.MultiHeadMask(masks),
            head_shards=1,
            q_seq_shards=1,
            block_sizes=blocks,
            residual_checkpoint_name="context",
        )
        q, k, v = (x.swapaxes(1, 2) for x in (q / q.shape[-1] ** 0.5, k, v))
        return jax.vmap(kernel)(q, k, v).swapaxes(1, 2)

    mixed: jax.Array = attend(q, k, v)
    return mixed


def attend_on_gpu(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = True) -> jax.Array:
    """Return attention by a kernel of Pallas that Triton compiles, on one GPU."""
    from jax.experimental.pallas.ops.gpu.attention import mha  # deprecated in favour of another package

    k, v = (jnp.repeat(x, q.shape[2] // k.shape[2], axis=2) for x in (k, v))
    mixed: jax.Array = mha(q, k, v, None, sm_scale=q.shape[-1] ** -0.5, causal=causal)
    return mixed


def attend_with_triton(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return causal attention by `attend_on_gpu`, on each device's examples and heads."""
    sharded = jax.shard_map(attend_on_gpu, in_specs=(HEADS,) * 3, out_specs=HEADS, check_vma=False)
    mixed: jax.Array = sharded(q, k, v)
    return mixed
