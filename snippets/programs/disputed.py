"""Small programs on which claims about fusion, layouts, memory and lowering can be tried."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def scale_sum(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return the sum over the last axis, times a scalar, f32[256]."""
    return x.sum(-1) * scale


def bias_after_relu(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """Return relu(x @ w) + b, a matrix product with two operations after it, f32[64,256]."""
    return jax.nn.relu(x @ w) + b


def choose(condition: jax.Array, x: jax.Array) -> jax.Array:
    """Return 2 x if the condition holds, else 3 x, chosen on the device."""
    chosen: jax.Array = jax.lax.cond(condition, lambda x: x * 2, lambda x: x * 3, x)
    return chosen


def convolve_channels_first(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return the convolution of images in the order batch, channels, height, width."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))


def convolve_channels_last(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return the convolution of images in the order batch, height, width, channels."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def add_waves(x: jax.Array) -> jax.Array:
    """Return sin(x) * 2 + cos(x), element by element."""
    return jnp.sin(x) * 2 + jnp.cos(x)


def scatter_add(x: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
    """Return x with each row of `updates` added to the row of its index."""
    return x.at[indices].add(updates)


def arc_cosine(x: jax.Array) -> jax.Array:
    """Return acos(x), one operation that some compilers expand into several."""
    return jax.lax.acos(x)


def _shapes(*shapes: tuple[int, ...]) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum(x) * scale": (scale_sum, _shapes((256, 1024), ())),
    "relu(x @ w) + b": (bias_after_relu, _shapes((64, 128), (128, 256), (256,))),
    "cond": (choose, (jax.ShapeDtypeStruct((), jnp.bool_), *_shapes((8, 128)))),
    "convolution NCHW": (convolve_channels_first, _shapes((8, 64, 32, 32), (64, 64, 3, 3))),
    "convolution NHWC": (convolve_channels_last, _shapes((8, 32, 32, 64), (3, 3, 64, 64))),
    "sin(x) * 2 + cos(x)": (add_waves, _shapes((1024, 1024))),
    "scatter": (scatter_add, (*_shapes((64, 128)), jax.ShapeDtypeStruct((8,), jnp.int32), *_shapes((8, 128)))),
    "acos": (arc_cosine, _shapes((8,))),
}


if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example), sep="\n")
