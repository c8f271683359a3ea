"""Programs that tell XLA what to fuse and what to keep apart, and the same programs without such requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import fuse_limit, must_fuse_call

if TYPE_CHECKING:
    from collections.abc import Callable

Pair = tuple[jax.Array, jax.Array]


def double_exp(x: jax.Array) -> jax.Array:
    """Return 2 exp(x), without a request about fusion."""
    return jnp.exp(x) * 2


def keep_apart(x: jax.Array) -> jax.Array:
    """Return 2 exp(x), with a barrier between the exponential and the product."""
    held: jax.Array = jax.lax.optimization_barrier(jnp.exp(x))
    return held * 2


def limit_first(x: jax.Array) -> jax.Array:
    """Return 2 exp(x), with the exponential marked as the last operation of its fusion."""
    with fuse_limit():
        y = jnp.exp(x)
    return y * 2


def limit_second(x: jax.Array) -> jax.Array:
    """Return 2 exp(x), with the product marked as the last operation of its fusion."""
    y = jnp.exp(x)
    with fuse_limit():
        return y * 2


def sine_and_cosine(x: jax.Array, y: jax.Array) -> Pair:
    """Return sin(x) and cos(y), which share no operand."""
    return jnp.sin(x), jnp.cos(y)


def sine_with_cosine(x: jax.Array, y: jax.Array) -> Pair:
    """Return sin(x) and cos(y), with a request to compute both in one fusion."""
    results: Pair = must_fuse_call("1")(sine_and_cosine)(x, y)
    return results


def softmax_at_once(x: jax.Array) -> jax.Array:
    """Return the softmax of each row, with a request to compute it in one fusion."""
    result: jax.Array = must_fuse_call("1")(jax.nn.softmax)(x)
    return result


SQUARE = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
LARGE = jax.ShapeDtypeStruct((8192, 8192), jnp.float32)
"""The shape of an array that is too large for any on-chip memory."""

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "nothing": (double_exp, (SQUARE,)),
    "barrier": (keep_apart, (SQUARE,)),
    "limit on the first": (limit_first, (SQUARE,)),
    "limit on the second": (limit_second, (SQUARE,)),
    "two arrays": (sine_and_cosine, (SQUARE, SQUARE)),
    "two arrays, must fuse": (sine_with_cosine, (SQUARE, SQUARE)),
    "softmax, must fuse": (softmax_at_once, (SQUARE,)),
    "barrier, large": (keep_apart, (LARGE,)),
    "nothing, large": (double_exp, (LARGE,)),
}

if __name__ == "__main__":
    for title, (function, example) in PROGRAMS.items():
        print(title, jax.make_jaxpr(function)(*example), sep="\n")
