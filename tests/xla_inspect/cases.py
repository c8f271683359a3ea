"""The programs of the corpus of dumps.

They are chosen to reach many opcodes, attributes and shapes rather than to be useful.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

if TYPE_CHECKING:
    from collections.abc import Callable

Tree = Any
Shapes = tuple[tuple[tuple[int, ...], Any], ...]
TARGETS = ("cpu", "h100", "tpu-v5e")
F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32


@dataclass(frozen=True)
class Program:
    """One program of the corpus: its function, argument shapes, targets, devices, shardings and compiler options."""

    name: str
    function: Callable[..., Tree]
    shapes: Shapes
    targets: tuple[str, ...] = TARGETS
    devices: int = 1
    specs: tuple[P, ...] = ()
    out_specs: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    donate: tuple[int, ...] = ()


def mlp(x: jax.Array, w1: jax.Array, b1: jax.Array, w2: jax.Array, b2: jax.Array) -> Tree:
    hidden = jax.nn.relu(x @ w1 + b1)
    return hidden @ w2 + b2


def layernorm(x: jax.Array, scale: jax.Array, bias: jax.Array) -> Tree:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> Tree:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4.0
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def block(x: jax.Array, *weights: jax.Array) -> Tree:
    wq, wo, w1, w2, scale, bias = weights
    normed = layernorm(x, scale, bias)
    qkv = (normed @ wq).reshape(*x.shape[:2], 4, 48)
    q, k, v = jnp.split(qkv, 3, axis=-1)
    x = x + attention(q, k, v).reshape(x.shape) @ wo
    return x + jax.nn.gelu(layernorm(x, scale, bias) @ w1) @ w2


def convolution(x: jax.Array, w: jax.Array) -> Tree:
    return jax.nn.relu(lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))


def loop(x: jax.Array) -> Tree:
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, jnp.sin(s[1]) * 2), (0, x))


def branches(i: jax.Array, x: jax.Array) -> Tree:
    picked = lax.switch(i, [jnp.sin, jnp.cos, lambda y: y * y], x)
    return lax.cond(x.sum() > 0, lambda y: y + 1, lambda y: y @ y, picked)


def order(x: jax.Array) -> Tree:
    values, indices = lax.top_k(x, 4)
    return jnp.sort(x, axis=0), jnp.argsort(x, axis=-1), values, indices, jnp.argmax(x, -1), jnp.median(x)


def cholesky(x: jax.Array) -> Tree:
    lower = jnp.linalg.cholesky(x @ x.T + jnp.eye(x.shape[0]))
    return lax.linalg.triangular_solve(lower, x, left_side=True, lower=True)


def integers(x: jax.Array, w: jax.Array, p: jax.Array) -> Tree:
    product = lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=I32)
    return product, (p.astype(jnp.int8) * 2).astype(jnp.int4), x >> 1, lax.population_count(x), lax.clz(x)


def complex_numbers(x: jax.Array, y: jax.Array) -> Tree:
    z = lax.complex(x, y)
    return jnp.exp(z) @ z.T, jnp.abs(z), jnp.angle(z), z.real + z.imag, jnp.conj(z)


def slices(x: jax.Array, i: jax.Array, u: jax.Array) -> Tree:
    piece = lax.dynamic_slice(x, (i, 0), (2, 16))
    return lax.dynamic_update_slice(x, u, (i, i)), piece, x[::2, ::-1], jnp.pad(x, ((1, 2), (0, 3))), jnp.roll(x, i, 0)


def windows(x: jax.Array) -> Tree:
    def pool(y: jax.Array) -> jax.Array:
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    pooled = jax.value_and_grad(pool)(x)
    return jnp.cumsum(x, 1), pooled


def eighths(x: jax.Array, w: jax.Array) -> Tree:
    small = (x.astype(jnp.float8_e4m3fn), w.astype(jnp.float8_e4m3fn))
    product = lax.dot(*small, preferred_element_type=F32)
    return product.astype(jnp.float8_e5m2), lax.reduce_precision(x, 5, 10)


def element_wise(x: jax.Array, y: jax.Array) -> Tree:
    unary = (lax.exp, lax.log1p, lax.expm1, lax.tan, lax.erf, lax.cbrt, lax.logistic, lax.floor, lax.round, lax.sign)
    binary = (lax.atan2, lax.rem, lax.nextafter, lax.pow)
    return [f(x) for f in (*unary, lax.is_finite, lax.asinh)], [f(x, y) for f in binary], lax.clamp(0.0, x, 1.0)


def barrier(x: jax.Array) -> Tree:
    y = lax.optimization_barrier((x, x + 1))
    return jax.checkpoint(lambda z: jnp.sin(jnp.sin(z)))(y[0]) + y[1]


def named(x: jax.Array) -> Tree:
    with jax.named_scope('a "quoted" {name}'):
        return jnp.sin(x) + jnp.array([[1.5, -2.0], [jnp.nan, jnp.inf]]) * jnp.array([[True, False], [False, True]])


def ring(x: jax.Array) -> Tree:
    n = lax.axis_size("i")
    moved = lax.ppermute(x, "i", [(j, (j + 1) % n) for j in range(n)])
    return moved, lax.all_to_all(x, "i", 0, 0, tiled=True), lax.psum(x, "i")


def tensor_parallel(x: jax.Array, w1: jax.Array, w2: jax.Array) -> Tree:
    return jax.nn.relu(x @ w1) @ w2


def data_parallel_step(x: jax.Array, w1: jax.Array, w2: jax.Array) -> Tree:
    gradients = jax.grad(lambda a, b: (tensor_parallel(x, a, b) ** 2).mean(), argnums=(0, 1))(w1, w2)
    return w1 - 0.1 * gradients[0], w2 - 0.1 * gradients[1]


def floats(*shapes: tuple[int, ...]) -> Shapes:
    return tuple((shape, F32) for shape in shapes)


BLOCK = floats((2, 32, 64), (64, 192), (64, 64), (64, 128), (128, 64), (64,), (64,))

PROGRAMS = (
    Program("mlp", mlp, floats((64, 128), (128, 256), (256,), (256, 16), (16,))),
    Program("gelu", jax.nn.gelu, floats((256, 512))),
    Program("softmax", jax.nn.softmax, floats((128, 1024))),
    Program("layernorm", layernorm, floats((128, 256), (256,), (256,))),
    Program("attention", attention, (((2, 64, 4, 16), BF16),) * 3),
    Program("block", block, BLOCK),
    Program("block_gradient", jax.value_and_grad(lambda *a: (block(*a) ** 2).mean(), argnums=tuple(range(7))), BLOCK),
    Program("convolution", convolution, floats((2, 16, 16, 8), (3, 3, 8, 16))),
    Program(
        "convolution_gradient",
        jax.grad(lambda *a: convolution(*a).sum(), argnums=(0, 1)),
        floats((2, 16, 16, 8), (3, 3, 8, 16)),
    ),
    Program(
        "scan",
        lambda x, w: lax.scan(lambda carry, _: (jnp.tanh(carry @ w), carry.sum()), x, length=8),
        floats((4, 16), (16, 16)),
    ),
    Program("loop", loop, floats((8,))),
    Program("compact", loop, floats((8,)), options={"xla_dump_compact_gte": True}),
    Program("branches", branches, (((), I32), ((8, 8), F32))),
    Program("order", order, floats((16, 32))),
    Program(
        "scatter",
        lambda x, i, u: (x.at[i].add(u), x.at[i].max(u), x.at[i, 0].set(1.0)),
        (((32, 8), F32), ((5,), I32), ((5, 8), F32)),
    ),
    Program(
        "gather",
        lambda x, i: (x[i], jnp.take_along_axis(x, x.argsort(1), axis=1), x[i, i]),
        (((32, 8), F32), ((5,), I32)),
    ),
    Program("spectrum", lambda x: (jnp.fft.rfft(x), jnp.fft.ifft2(x + 1j), jnp.fft.irfft(x[:, :9])), floats((8, 16))),
    Program("noise", lambda key: jax.random.normal(key, (32,)), (((2,), jnp.uint32),)),
    Program("bits", lambda state: lax.rng_bit_generator(state, (4, 5), dtype=jnp.uint32), (((4,), jnp.uint32),)),
    Program("uniform", lambda low, high: lax.rng_uniform(low, high, (3, 4)), floats((), ())),
    Program("cholesky", cholesky, floats((8, 8))),
    Program("factorise", jnp.linalg.qr, floats((6, 6))),
    Program(
        "half",
        lambda x, w: (x @ w + x.astype(F32).mean().astype(BF16)).astype(jnp.float16),
        (((32, 64), BF16), ((64, 64), BF16)),
    ),
    Program("integers", integers, (((16, 32), jnp.int8), ((32, 16), jnp.int8), ((64,), jnp.int4))),
    Program("complex_numbers", complex_numbers, floats((8, 8), (8, 8))),
    Program("slices", slices, (((16, 16), F32), ((), I32), ((3, 3), F32))),
    Program("windows", windows, floats((2, 8, 8, 3))),
    Program("eighths", eighths, floats((32, 64), (64, 32))),
    Program("element_wise", element_wise, floats((64,), (64,))),
    Program(
        "reductions",
        lambda x: (jnp.all(x > 0), jnp.prod(x, 0), jnp.var(x, 1), jnp.argmin(x), jax.nn.logsumexp(x), lax.cummax(x)),
        floats((16, 24)),
    ),
    Program("barrier", jax.grad(lambda y: barrier(y).sum()), floats((8,))),
    Program("named", named, floats((2, 2))),
    Program(
        "callback",
        lambda x: jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1,
        floats((4,)),
        targets=("cpu", "tpu-v5e"),
    ),
    Program("donated", lambda x, y: (x + y, y * 2), floats((8,), (8,)), donate=(0, 1)),
    Program("ring", ring, floats((64, 16)), devices=8, specs=(P("i"),), out_specs=(P("i"), P("i"), P())),
    Program(
        "shards",
        lambda x: (
            lax.psum_scatter(x, "i", tiled=True),
            lax.all_gather(x, "i", tiled=True),
            lax.pmax(x, "i") * lax.axis_index("i"),
        ),
        floats((64, 16)),
        devices=8,
        specs=(P("i"),),
        out_specs=(P("i"), P("i"), P("i")),
    ),
    Program(
        "tensor_parallel",
        tensor_parallel,
        floats((16, 32), (32, 64), (64, 32)),
        devices=8,
        specs=(P(), P(None, "i"), P("i")),
    ),
    Program(
        "data_parallel", data_parallel_step, floats((16, 32), (32, 64), (64, 32)), devices=8, specs=(P("i"), P(), P())
    ),
    Program(
        "reshard",
        lambda x: (lax.with_sharding_constraint(x * 2, P(None, "i")), lax.with_sharding_constraint(x + 1, P())),
        floats((64, 16)),
        devices=8,
        specs=(P("i"),),
    ),
)
