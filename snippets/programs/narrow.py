"""Matmuls of narrow number types: direct, dequantized first, and with a scale for each block."""

import jax
import jax.numpy as jnp

F8, BF16, INT8 = jnp.float8_e4m3fn, jnp.bfloat16, jnp.int8
M, K, N, BLOCK = 256, 512, 1024, 32


def narrow(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x @ w with products summed, and returned, in float32."""
    return jnp.matmul(x, w, preferred_element_type=jnp.float32)


def as_given(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x @ w in the type of x."""
    return x @ w


def counted(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x @ w of integers, summed in int32."""
    return jnp.matmul(x, w, preferred_element_type=jnp.int32)


def dequantized(x: jax.Array, w: jax.Array, x_scale: jax.Array, w_scale: jax.Array) -> jax.Array:
    """Return x @ w in float32, each first converted to bfloat16 and multiplied by its own scale, f32[]."""
    wide_x = x.astype(BF16) * x_scale.astype(BF16)
    wide_w = w.astype(BF16) * w_scale.astype(BF16)
    return jnp.matmul(wide_x, wide_w, preferred_element_type=jnp.float32)


def block_scaled(x: jax.Array, w: jax.Array, x_scale: jax.Array, w_scale: jax.Array) -> jax.Array:
    """Return x @ w.T for x[1,m,k] and w[1,n,k], with a scale for each 32 numbers of k."""
    return jax.nn.scaled_matmul(x, w, x_scale, w_scale, preferred_element_type=jnp.float32)


def shape(dtype: jax.typing.DTypeLike, *sizes: int) -> jax.ShapeDtypeStruct:
    """Return the `ShapeDtypeStruct` of an array of these sizes and this element type."""
    return jax.ShapeDtypeStruct(sizes, dtype)


SCALE = shape(jnp.float32)
PROGRAMS = {
    "bfloat16, summed in float32": (narrow, (shape(BF16, M, K), shape(BF16, K, N))),
    "bfloat16": (as_given, (shape(BF16, M, K), shape(BF16, K, N))),
    "float8": (narrow, (shape(F8, M, K), shape(F8, K, N))),
    "float8, dequantized": (dequantized, (shape(F8, M, K), shape(F8, K, N), SCALE, SCALE)),
    "float8, scaled by block": (
        block_scaled,
        (
            shape(F8, 1, M, K),
            shape(F8, 1, N, K),
            shape(jnp.float8_e8m0fnu, 1, M, K // BLOCK),
            shape(jnp.float8_e8m0fnu, 1, N, K // BLOCK),
        ),
    ),
    "int8, summed in int32": (counted, (shape(INT8, M, K), shape(INT8, K, N))),
}

EXAMPLE = PROGRAMS["float8"][1]

if __name__ == "__main__":
    print(jax.make_jaxpr(narrow)(*EXAMPLE))
