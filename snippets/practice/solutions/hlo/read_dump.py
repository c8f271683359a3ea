"""Read a dump: where are the fusions, the layouts and the constants? A solution for Linux on x86-64."""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(128, 64), shape(64, 256), shape(256))


def program(x: jax.Array, w: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a scaled and transposed hidden layer, and its sums: f32[256,128], f32[256]."""
    hidden = jnp.tanh(x @ w) * 0.5
    return (hidden * scale).T, jnp.sum(hidden, axis=0)


FUSIONS: int | None = 6
LAYOUT: tuple[int, ...] | None = (0, 1)
RELAYOUT: str | None = "wrapped_copy"
HALVES: int | None = 2
