"""The number of traces and compilations of one function over several calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

TRACED = "/jax/core/compile/jaxpr_trace_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"


def counted_calls() -> list[tuple[str, int, int]]:
    """Run eleven calls of jitted functions; return the text of each, its number of traces, and of compilations."""
    seconds: dict[str, list[float]] = {}

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        seconds.setdefault(event, []).append(duration_secs)

    def scale(x: jax.Array, by: int = 2) -> jax.Array:
        return x * by

    f = jax.jit(scale, static_argnames="by")
    vector, longer, integers = np.ones(4, np.float32), np.ones(8, np.float32), np.ones(4, np.int32)
    others = vector + 1
    calls: dict[str, Callable[[], jax.Array]] = {
        "`f(vector)`, the first call": lambda: f(vector),
        "`f(vector)` again": lambda: f(vector),
        "`f(others)`: other values": lambda: f(others),
        "`f(longer)`: another shape": lambda: f(longer),
        "`f(integers)`: another element type": lambda: f(integers),
        "`f(vector, by=3)`: another static argument": lambda: f(vector, by=3),
        "`f(2.0)`: a Python number": lambda: f(2.0),
        "`jax.jit(scale)(vector)`: a new `jit`": lambda: jax.jit(scale)(vector),
        "the same line again": lambda: jax.jit(scale)(vector),
        "`jax.jit(lambda x: x * 2)(vector)`: a new function": lambda: jax.jit(lambda x: x * 2)(vector),
        "the same line, and a new function, again": lambda: jax.jit(lambda x: x * 2)(vector),
    }
    rows = []
    jax.monitoring.register_event_duration_secs_listener(listen)
    for name, call in calls.items():
        seconds.clear()
        jax.block_until_ready(call())
        rows.append((name, len(seconds.get(TRACED, ())), len(seconds.get(COMPILED, ()))))
    jax.monitoring.unregister_event_duration_listener(listen)
    return rows


if __name__ == "__main__":
    for row in counted_calls():
        print(row)
