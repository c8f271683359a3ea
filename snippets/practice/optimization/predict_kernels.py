"""Predict how many kernels three programs launch.

Read the three functions, and write down how many kernels the CPU launches for each, before you look. What you know by
now: operations on elements are fused, whatever their number; a matmul is a library's kernel, which takes
in no element-wise operation before it; a sort returns nothing before it has seen everything.

The check compiles them, and shows what each launches.
"""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLES = {
    "joined": (shape(64, 128), shape(64, 128)),
    "network": (shape(64, 128), shape(128, 256), shape(256, 64)),
    "ordered": (shape(64, 128),),
}


def joined(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return two halves, each through a function of its own, joined and scaled: f32[128,128]."""
    return jnp.concatenate([jnp.exp(x), jnp.sin(y)]) * 2 + 1


def network(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return two layers without biases: f32[64,64]."""
    return jnp.tanh(x @ w) @ v


def ordered(x: jax.Array) -> jax.Array:
    """Return the exponentials of each row in order, twice as large: f32[64,128]."""
    return jnp.sort(jnp.exp(x), axis=-1) * 2


JOINED: int | None = None  # TODO(human): kernels of `joined`
NETWORK: int | None = None  # TODO(human): kernels of `network`
ORDERED: int | None = None  # TODO(human): kernels of `ordered`
