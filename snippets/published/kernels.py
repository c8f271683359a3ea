"""Kernels and collectives whose times others published, compiled from shapes without any arrays.

`docs/data/published-times.toml` has the times and their sources. The arguments of attention have the axes example,
position, head and size. There may be fewer heads of keys and values.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
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
    return jnp.einsum("bhgqk,bkhd->bqhgd", shares, v).reshape(batch, length, heads, size)


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
    return jax.shard_map(attend_on_gpu, in_specs=(HEADS,) * 3, out_specs=HEADS, check_vma=False)(q, k, v)


@dataclass(frozen=True)
class Kernel:
    """A function of some arrays, and the operations that its source counts for it."""

    function: Callable[..., Any]
    example: tuple[jax.ShapeDtypeStruct, ...]
    flops: float = 0
    arguments: dict[str, Any] = field(default_factory=dict)


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the product of two matrices."""
    return a @ b


def multiply(rows: int, columns: int, inner: int) -> Kernel:
    """Return the product of two bf16 matrices, accumulated in f32."""
    shapes = (rows, inner), (inner, columns)
    operands = tuple(jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes)
    return Kernel(product, operands, 2 * rows * columns * inner)


def attend(size: int, length: int, *, causal: bool, slopes: bool = False, plain: bool = False) -> Kernel:
    """Return attention of 16,384 tokens and a width of 2,048, as both papers on FlashAttention measure it.

    The papers count no flops for masked scores, and two and a half times the flops of the forward pass for the
    backward pass.
    """
    forward = partial(attend_plainly if plain else attend_on_gpu, causal=causal)

    def both(q: jax.Array, k: jax.Array, v: jax.Array, g: jax.Array) -> tuple[Any, ...]:
        output, backward = jax.vjp(forward, q, k, v)
        return output, *backward(g)

    shape = (16_384 // length, length, 2048 // size, size)
    flops = 4 * 16_384 * length * 2048 / (2 if causal else 1) * (3.5 if slopes else 1)
    function, count = (both, 4) if slopes else (forward, 3)
    return Kernel(function, (jax.ShapeDtypeStruct(shape, jnp.float16),) * count, flops)


def gather(shape: tuple[int, int], spec: P, axes: str | tuple[str, ...], result: P) -> Kernel:
    """Return the all-gather of a bf16 matrix over mesh axes, along its rows."""

    @partial(jax.shard_map, in_specs=spec, out_specs=result, check_vma=False)
    def gather_rows(x: jax.Array) -> jax.Array:
        rows: jax.Array = jax.lax.all_gather(x, axes, tiled=True)
        return rows

    return Kernel(gather_rows, (jax.ShapeDtypeStruct(shape, jnp.bfloat16),), arguments={"specs": (spec,)})


PRODUCTS = {f"product_{size}": (size,) * 3 for size in (1024, 2048, 4096, 6144, 8192, 16_384)}
PRODUCTS |= {
    f"product_{rows}_{columns}_{inner}": (rows, columns, inner)
    for rows, columns, inner in ((2048, 2048, 13_312), (1024, 10_240, 5120), (1792, 16_128, 3072))
}
PROGRAMS = {
    **{name: multiply(*sizes) for name, sizes in PRODUCTS.items()},
    "copy_32_mib": Kernel(jnp.copy, (jax.ShapeDtypeStruct((16_777_216,), jnp.bfloat16),)),
    "attention_64_16k": attend(64, 16_384, causal=False),
    "attention_128_8k": attend(128, 8192, causal=False),
    "attention_128_16k": attend(128, 16_384, causal=False),
    "attention_causal_128_4k": attend(128, 4096, causal=True),
    "attention_causal_128_16k": attend(128, 16_384, causal=True),
    "attention_slopes_64_2k": attend(64, 2048, causal=False, slopes=True),
    "attention_slopes_128_8k": attend(128, 8192, causal=False, slopes=True),
    "attention_slopes_causal_128_8k": attend(128, 8192, causal=True, slopes=True),
    "attention_slopes_plain_64_2k": attend(64, 2048, causal=False, slopes=True, plain=True),
    "attention_slopes_plain_128_8k": attend(128, 8192, causal=False, slopes=True, plain=True),
    "all_gather_2048_8192": gather((2048, 8192), P("y"), "y", P()),
    "all_gather_256_256": gather((256, 256), P("y"), "y", P()),
    "all_gather_1024_4096_x": gather((1024, 4096), P("x", "y"), "x", P(None, "y")),
    "all_gather_1024_4096_xy": gather((1024, 4096), P(("x", "y")), ("x", "y"), P()),
}
