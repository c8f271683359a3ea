"""How often JAX traces and compiles one function over several calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable


def counted_calls() -> list[tuple[str, int, int]]:
    """Return each call of one jitted function with the traces and compiles that it caused."""
    events: list[str] = []

    def listen(event: str, _seconds: float, **_: str | int) -> None:
        events.append(event)

    def scale(x: jax.Array, by: int = 2) -> jax.Array:
        return x * by

    f = jax.jit(scale, static_argnames="by")
    vector, longer, integers = jnp.ones(4), jnp.ones(8), jnp.ones(4, int)
    calls: dict[str, Callable[[], jax.Array]] = {
        "`f(vector)`, the first call": lambda: f(vector),
        "`f(vector)` again": lambda: f(vector),
        "`f(vector + 1)`: other values": lambda: f(vector + 1),
        "`f(longer)`: another shape": lambda: f(longer),
        "`f(integers)`: another element type": lambda: f(integers),
        "`f(vector, by=3)`: another static argument": lambda: f(vector, by=3),
        "`f(2.0)`: a Python number": lambda: f(2.0),
        "`jax.jit(scale, ...)(vector)`: the same function jitted again": lambda: jax.jit(scale, static_argnames="by")(
            vector
        ),
        "`jax.jit(lambda x: x * 2)(vector)`": lambda: jax.jit(lambda x: x * 2)(vector),
        "the same line again": lambda: jax.jit(lambda x: x * 2)(vector),
    }
    jax.block_until_ready(vector + 1)
    rows = []
    jax.monitoring.register_event_duration_secs_listener(listen)
    for name, call in calls.items():
        events.clear()
        jax.block_until_ready(call())
        traces = events.count("/jax/core/compile/jaxpr_trace_duration")
        compiles = events.count("/jax/core/compile/backend_compile_duration")
        rows.append((name, traces, compiles))
    jax.monitoring.unregister_event_duration_listener(listen)
    return rows


if __name__ == "__main__":
    for row in counted_calls():
        print(row)
