"""Launch as few kernels as possible for the softmax and the entropy of each row.

`start(x)` returns the softmax of each row and its entropy, the sum of `-p * log(p)`: f32[256,1024] ->
f32[256,1024], f32[256]. It is correct for numbers of any size, but it launches more kernels than necessary.

The score is the number of kernels on the H100 if its compiler is installed, else on the CPU. Large numbers must not
overflow: the check also tries numbers that are a hundred times as large, and rows near 100 and near -100.
"""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(256, 1024),)


def start(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the softmax of each row and its entropy: f32[256,1024] -> f32[256,1024], f32[256]."""
    log_p = x - jax.nn.logsumexp(x, axis=-1, keepdims=True)
    p = jnp.exp(log_p)
    return p, -jnp.sum(p * log_p, axis=-1)


def better(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the same result as `start`, with fewer kernels."""
    raise NotImplementedError  # TODO(human): fewer kernels
