"""Conditions and loops, written in Python and with jax.lax."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

BOUND = 100.0


def python_if(x: jax.Array) -> jax.Array:
    """Return sin(x) if the sum of x is positive, else cos(x); `if` needs the value, so `jit` cannot trace it."""
    if jnp.sum(x) > 0:
        return jnp.sin(x)
    return jnp.cos(x)


def python_for(x: jax.Array, steps: int) -> jax.Array:
    """Return x after `steps` sines in a Python loop, which needs the value of `steps` during tracing."""
    for _ in range(steps):
        x = jnp.sin(x)
    return x


def cond(x: jax.Array) -> jax.Array:
    """Return sin(x) if the sum of x is positive, else cos(x), chosen on the device."""
    chosen: jax.Array = lax.cond(jnp.sum(x) > 0, jnp.sin, jnp.cos, x)
    return chosen


def fori_loop(x: jax.Array) -> jax.Array:
    """Return x after three sines, in a loop on the device."""
    last: jax.Array = lax.fori_loop(0, 3, lambda _, value: jnp.sin(value), x)
    return last


def scan(x: jax.Array) -> jax.Array:
    """Return the running sums of x: at each step one element goes in, one sum comes out, and one is carried on."""
    _, sums = lax.scan(lambda carry, element: (carry + element,) * 2, jnp.float32(0), x)
    return sums


def while_loop(x: jax.Array) -> jax.Array:
    """Return x, doubled in a loop on the device until its sum is at least 100."""
    return lax.while_loop(lambda value: jnp.sum(value) < BOUND, lambda value: value * 2, x)


EXAMPLE = (jax.ShapeDtypeStruct((8,), jnp.float32),)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    function.__name__: (function, EXAMPLE) for function in (cond, fori_loop, scan, while_loop)
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example), sep="\n")
