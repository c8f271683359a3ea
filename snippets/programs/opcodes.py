"""Programs that together produce many opcodes of HLO by ordinary calls of JAX on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

if TYPE_CHECKING:
    from collections.abc import Callable

type Results = tuple[Any, ...]


def arithmetic(x: jax.Array, y: jax.Array) -> Results:
    """Return the results of element-wise arithmetic, comparison and selection."""
    return (
        *(lax.abs(x), lax.neg(x), lax.sign(x), lax.is_finite(x)),
        *(lax.ceil(x), lax.floor(x), lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), jnp.round(x)),
        *(lax.sqrt(x), lax.rsqrt(x), lax.cbrt(x), lax.pow(x, y)),
        *(lax.add(x, y), lax.sub(x, y), lax.mul(x, y), lax.div(x, y), lax.rem(x, y)),
        *(lax.max(x, y), lax.min(x, y), lax.clamp(0.0, x, 1.0)),
        *(lax.lt(x, y), jnp.where(x > y, x, y), lax.reduce_precision(x, 5, 10)),
    )


def transcendental(x: jax.Array, y: jax.Array) -> Results:
    """Return transcendental functions, each one StableHLO or CHLO operation, or several that JAX writes out."""
    return (
        *(lax.exp(x), lax.expm1(x), lax.log(x), lax.log1p(x), lax.erf(x)),
        *(lax.sin(x), lax.cos(x), lax.tan(x), lax.tanh(x), lax.atan2(x, y)),
        *(lax.logistic(x), lax.exp2(x), jnp.log2(x)),
        *(lax.acos(x), lax.asin(x), lax.cosh(x), lax.sinh(x), lax.acosh(x), lax.asinh(x), lax.atanh(x)),
    )


def bits(i: jax.Array, j: jax.Array, x: jax.Array) -> Results:
    """Return the results of bitwise operations, shifts, `mulhi` and conversions of integers."""
    return (
        *(i & j, i | j, i ^ j, ~i, lax.clz(i), lax.population_count(i), lax.mulhi(i, j)),
        *(lax.shift_left(i, j), lax.shift_right_arithmetic(i, j), lax.shift_right_logical(i, j)),
        *(i.astype(jnp.float32), lax.bitcast_convert_type(x, jnp.int32)),
    )


def spectrum(x: jax.Array, y: jax.Array, z: jax.Array) -> Results:
    """Return the Fourier transform of x + iy, and twice the real and imaginary parts of z."""
    return jnp.fft.fft(lax.complex(x, y)), lax.real(z) * 2, lax.imag(z) * 2


def moves(x: jax.Array, y: jax.Array, update: jax.Array, start: jax.Array) -> Results:
    """Return the results of operations that move, slice, pad, concatenate and create arrays."""
    folded = x.reshape(4, 256)
    return (
        *(x.T, folded * 2, x[::-1], x[1:5], jnp.pad(x, 1), jnp.concatenate([x, y])),
        *(lax.dynamic_slice_in_dim(x, start, 2), lax.dynamic_update_slice_in_dim(x, update, start, 0)),
        *(jnp.broadcast_to(start, (8, 128)), lax.iota(jnp.int32, 128), x + np.arange(128, dtype=np.float32)),
    )


def picks(x: jax.Array, rows: jax.Array, update: jax.Array, row: jax.Array) -> Results:
    """Return the results of a gather, a scatter, a sort and a top-k."""
    return x[rows], x.at[rows].add(update), jnp.sort(x, axis=0), *lax.top_k(row, 3)


def reductions(x: jax.Array, long: jax.Array, images: jax.Array) -> Results:
    """Return sums over an axis and over windows, cumulative sums, and the gradient of max pooling."""

    def pooled(images: jax.Array) -> Any:  # noqa: ANN401 - `lax.reduce_window` is not annotated
        return lax.reduce_window(images, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    windows = lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME")
    return x.sum(0), windows, lax.cumsum(x, 0), lax.cumsum(long, 1), jax.grad(pooled)(images)


def products(x: jax.Array, w: jax.Array, images: jax.Array, filters: jax.Array) -> Results:
    """Return a matrix product and a convolution."""
    return x @ w, lax.conv(images, filters, (1, 1), "SAME")


def solvers(a: jax.Array, b: jax.Array) -> Results:
    """Return a Cholesky factor, the solution of a triangular system, and an LU decomposition."""
    return jnp.linalg.cholesky(a), lax.linalg.triangular_solve(a, b, left_side=True), lax.linalg.lu(a)


def ragged(x: jax.Array, experts: jax.Array, sizes: jax.Array) -> Results:
    """Return a product in which each group of rows has its own matrix, as in a mixture of experts."""
    return (lax.ragged_dot(x, experts, sizes),)


def scaled(a: jax.Array, b: jax.Array, s: jax.Array, t: jax.Array) -> Results:
    """Return a product of 8-bit floats with a scale for each block of them."""
    return (lax.scaled_dot(a, b, lhs_scale=s, rhs_scale=t, preferred_element_type=jnp.bfloat16),)


def control(p: jax.Array, x: jax.Array) -> Results:
    """Return the results of a condition, a loop, a call of a jitted function and an optimization barrier."""
    doubled = jax.jit(lambda y: jnp.sin(y) * 2)
    return (
        lax.cond(p, jnp.sin, jnp.cos, x),
        lax.fori_loop(0, 10, lambda _, y: jnp.sin(y) * 2, x),
        doubled(x),
        lax.optimization_barrier((x + 1, x * 2)),
    )


def noise(key: jax.Array) -> Results:
    """Return random numbers from a hidden state, and the new key and random bits from an explicit key."""
    return lax.rng_uniform(0.0, 1.0, (8, 128)), lax.rng_bit_generator(key, (8, 128))


def _f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _i32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def _scaled() -> tuple[Any, ...]:
    values, scales = jnp.float8_e4m3fn, jnp.float8_e8m0fnu
    shapes = (((2, 64, 128), values), ((2, 128, 64), values), ((2, 64, 4), scales), ((2, 4, 64), scales))
    return tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes)


X = _f32(8, 128)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "arithmetic": (arithmetic, (X, X)),
    "transcendental": (transcendental, (X, X)),
    "bits": (bits, (_i32(8, 128), _i32(8, 128), X)),
    "spectrum": (spectrum, (X, X, jax.ShapeDtypeStruct((8, 128), jnp.complex64))),
    "moves": (moves, (X, X, _f32(2, 128), _i32())),
    "picks": (picks, (X, _i32(5), _f32(5, 128), _f32(128))),
    "reductions": (reductions, (X, _f32(8, 4096), _f32(1, 8, 8, 128))),
    "products": (products, (X, _f32(128, 16), _f32(1, 4, 8, 8), _f32(8, 4, 3, 3))),
    "solvers": (solvers, (_f32(8, 8), _f32(8, 8))),
    "ragged": (ragged, (_f32(16, 32), _f32(3, 32, 64), _i32(3))),
    "scaled": (scaled, _scaled()),
    "control": (control, (jax.ShapeDtypeStruct((), jnp.bool_), X)),
    "noise": (noise, (jax.ShapeDtypeStruct((4,), jnp.uint32),)),
}
# Which targets a program is for, where not for all: on the CPU, solvers are calls of LAPACK.
ONLY: dict[str, tuple[str, ...]] = {"solvers": ("h100", "tpu-v5e")}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(f"{name}: {len(jax.make_jaxpr(function)(*example).eqns)} equations")
