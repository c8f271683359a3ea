"""The times of the first call under `jit` and of later calls in NumPy, in eager execution and under `jit`, by size."""

import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SIZES = (8, 512, 4096, 32_768, 262_144, 2_097_152)
"""The numbers of elements of the argument."""


def apply_one(x: jax.Array, library: ModuleType = jnp) -> jax.Array:
    """Apply one operation of JAX or of NumPy."""
    result: jax.Array = library.tanh(x)
    return result


def apply_ten(x: jax.Array, library: ModuleType = jnp) -> jax.Array:
    """Apply ten operations, one after the other."""
    for _ in range(5):
        x = library.tanh(x) + 1
    return x


FUNCTIONS = {"one operation": apply_one, "ten operations": apply_ten}


def time_call(call: Callable[[], object]) -> float:
    """Return the microseconds of a call."""
    start = time.perf_counter()
    call()
    return 1e6 * (time.perf_counter() - start)


def time_ways(function: Callable[..., Any], size: int, rounds: int = 100) -> dict[str, float]:
    """Return the microseconds of the first call under `jit`, and the medians of later calls in three ways."""
    numbers = np.full(size, 0.5, np.float32)
    array = jax.device_put(numbers)
    jitted = jax.jit(function)
    # A call of JAX returns before its result is ready, so the eager and the jitted call wait for theirs.
    ways: dict[str, Callable[[], object]] = {
        "NumPy": lambda: function(numbers, np),
        "eager": lambda: function(array).block_until_ready(),
        "jit": lambda: jitted(array).block_until_ready(),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    # The ways alternate, so a machine that becomes slower for a while slows all of them.
    for _ in range(1 + rounds):
        for way, call in ways.items():
            times[way].append(time_call(call))
    # The first call of a size compiles, so the first round is not part of the medians.
    return {"first": times["jit"][0], **{way: statistics.median(values[1:]) for way, values in times.items()}}


def timed() -> dict[str, dict[int, dict[str, float]]]:
    """Return the times of each program at each size."""
    return {name: {size: time_ways(function, size) for size in SIZES} for name, function in FUNCTIONS.items()}


if __name__ == "__main__":
    for name, rows in timed().items():
        print(f"{name}, microseconds on {jax.devices()[0].device_kind}:")
        print(f"{'elements':>10}{'first call':>12}{'NumPy':>10}{'eager':>10}{'jit':>10}")
        for size, times in rows.items():
            print(
                f"{size:>10,}{times['first']:>12,.0f}{times['NumPy']:>10,.1f}{times['eager']:>10,.1f}{times['jit']:>10,.1f}"
            )
