"""A sum over a list of arrays, whose length is part of the signature, and over a padded stack of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILED = "/jax/core/compile/backend_compile_duration"
MOST = 4


def add_all(arrays: list[jax.Array]) -> jax.Array:
    """Return the sum of the arrays."""
    return jnp.sum(jnp.stack(arrays), axis=0)


def add_first(stack: jax.Array, count: jax.Array) -> jax.Array:
    """Return the sum of the first `count` arrays of a stack."""
    inside = jnp.arange(stack.shape[0])[:, None] < count
    return jnp.sum(jnp.where(inside, stack, 0), axis=0)


def summed() -> list[tuple[str, int, list[float]]]:
    """Return for each way its name, the number of executables for two to four arrays, and an element of each sum."""
    ones = [jnp.ones(8)] * MOST
    stack, counts = jnp.stack(ones), (2, 3, 4)
    separately, together = jax.jit(add_all), jax.jit(add_first)
    ways: dict[str, Callable[[int], jax.Array]] = {
        "a list": lambda count: separately(ones[:count]),
        "a padded stack": lambda count: together(stack, count),
    }
    rows = []
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        del duration_secs
        compiled.extend([event] * (event == COMPILED))

    jax.monitoring.register_event_duration_secs_listener(listen)
    for name, way in ways.items():
        compiled.clear()
        sums = [way(count) for count in counts]
        rows.append((name, len(compiled), sums))
    jax.monitoring.unregister_event_duration_listener(listen)
    return [(name, count, [float(result[0]) for result in sums]) for name, count, sums in rows]


if __name__ == "__main__":
    for row in summed():
        print(*row)
