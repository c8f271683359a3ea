"""Move half as many bytes by using half as many bits.

`start(x, w, v)` is a block of two layers in float32: f32[1024,256], f32[256,1024], f32[1024,256] -> f32[1024,256]. The
result may differ by 2% of its largest number, also if the arguments are a hundred times as large.

The score is the bytes that the kernels read and write on the H100 if its compiler is installed, else on the CPU.
"""

import jax
import jax.numpy as jnp


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (shape(1024, 256), shape(256, 1024), shape(1024, 256))


def start(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return the output of two layers with a gelu between them, f32[1024,256]."""
    return jax.nn.gelu(x @ w) @ v


def better(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return nearly the same result as `start`, f32[1024,256], with fewer bytes read and written."""
    raise NotImplementedError  # TODO(human): fewer bytes
