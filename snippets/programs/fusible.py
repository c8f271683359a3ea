"""Small programs, each of which tests one rule of the compilers for fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable


def double_and_add(x: jax.Array) -> jax.Array:
    """Return x * 2 + 1, two element-wise operations in a row."""
    return x * 2 + 1


def scale_softmax(x: jax.Array) -> jax.Array:
    """Return the softmax of each row of 0.125 x."""
    return jax.nn.softmax(x * 0.125, axis=-1)


def sum_rows(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return the sum of each row of x * scale, whose elements are neighbours in memory."""
    return jnp.sum(x * scale, axis=-1)


def sum_columns(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return the sum of each column of x * scale, whose elements are a row apart in memory."""
    return jnp.sum(x * scale, axis=0)


def normalize(x: jax.Array) -> jax.Array:
    """Return x with mean 0 and standard deviation 1 over all elements."""
    return (x - jnp.mean(x)) / jnp.std(x)


def normalize_rows(x: jax.Array) -> jax.Array:
    """Return x with mean 0 and standard deviation 1 in each row."""
    return (x - jnp.mean(x, axis=-1, keepdims=True)) / jnp.std(x, axis=-1, keepdims=True)


def sine_and_cosine(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return sin(x) and cos(x), two results of one operand, element by element."""
    return jnp.sin(x), jnp.cos(x)


def moments(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the sum of each row, and the sum of its squares."""
    return jnp.sum(x, axis=-1), jnp.sum(x * x, axis=-1)


def exp_three_ways(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the sums of the columns and rows of exp(x), and its matrix product with itself."""
    y = jnp.exp(x)
    return jnp.sum(y, axis=0), jnp.sum(y, axis=1), y @ y


def fence(x: jax.Array) -> jax.Array:
    """Return 2 exp(x), with a barrier between the two operations."""
    held: jax.Array = jax.lax.optimization_barrier(jnp.exp(x))
    return held * 2


def sort_between(x: jax.Array) -> jax.Array:
    """Return twice the sorted rows of exp(x), a sort between two element-wise operations."""
    return jnp.sort(jnp.exp(x), axis=-1) * 2


def join(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return twice the concatenation of exp(x) and sin(y)."""
    return jnp.concatenate([jnp.exp(x), jnp.sin(y)]) * 2


def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return the relu of a convolution, with channels last."""
    dimensions = ("NHWC", "HWIO", "NHWC")
    return jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dimensions))


def _array(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


_ROWS, _SQUARE = _array(128, 1024), _array(1024, 1024)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x * 2 + 1": (double_and_add, (_SQUARE,)),
    "scale and softmax": (scale_softmax, (_ROWS,)),
    "scale and sum rows": (sum_rows, (_SQUARE, _array(1024))),
    "scale and sum columns": (sum_columns, (_SQUARE, _array(1024))),
    "(x - mean) / std": (normalize, (_SQUARE,)),
    "(x - mean) / std of rows": (normalize_rows, (_ROWS,)),
    "sine and cosine": (sine_and_cosine, (_SQUARE,)),
    "two sums": (moments, (_SQUARE,)),
    "exp, three users": (exp_three_ways, (_SQUARE,)),
    "barrier": (fence, (_SQUARE,)),
    "sort": (sort_between, (_SQUARE,)),
    "concatenate": (join, (_SQUARE, _SQUARE)),
    "convolution": (convolve, (_array(8, 32, 32, 16), _array(3, 3, 16, 32))),
}

if __name__ == "__main__":
    for title, (function, example) in PROGRAMS.items():
        print(title, jax.make_jaxpr(function)(*example), sep="\n")
