"""Write a program of which one fusion is left.

`alternate(x, w)` multiplies the numbers at even places by `w` and takes the hyperbolic tangent of those at odd places:
f32[4096], f32[] -> f32[4096].

As one would write it in NumPy, it launches six kernels and a copy:

    y = x.at[::2].multiply(w)
    return y.at[1::2].set(jnp.tanh(x[1::2]))

Write it so that the CPU launches one, a fusion: no scatter, no loop, no copy, no result in between in memory. The check
lists what is launched. Once it is written, see for yourself:

    uv run xla-inspect show snippets/practice/hlo/one_fusion.py:alternate --stage after
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((4096,), jnp.float32), jax.ShapeDtypeStruct((), jnp.float32))


def alternate(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x * w at even places and tanh(x) at odd ones: f32[4096], f32[] -> f32[4096]."""
    raise NotImplementedError  # TODO(human): each element of the result, from its place alone
