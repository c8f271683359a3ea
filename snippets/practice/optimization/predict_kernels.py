"""Predict how many kernels three programs launch.

Read the three functions, and write down how many kernels the CPU launches for each of them before you look. You
already know the rules: any number of element-wise operations are fused. A matmul is a library's kernel, into which no
earlier element-wise operation is fused. A sort needs all its input before it returns anything.

The check compiles the functions and shows the launches of each.
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
    """Return the concatenation of two transformed arrays, scaled: f32[128,128]."""
    return jnp.concatenate([jnp.exp(x), jnp.sin(y)]) * 2 + 1


def network(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the output of two layers without biases: f32[64,64]."""
    return jnp.tanh(x @ w) @ v


def ordered(x: jax.Array) -> jax.Array:
    """Return the sorted exponentials of each row, multiplied by two: f32[64,128]."""
    return jnp.sort(jnp.exp(x), axis=-1) * 2


JOINED: int | None = None  # TODO(human): kernels of `joined`
NETWORK: int | None = None  # TODO(human): kernels of `network`
ORDERED: int | None = None  # TODO(human): kernels of `ordered`
