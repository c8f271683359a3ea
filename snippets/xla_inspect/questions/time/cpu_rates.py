"""The rates of this machine's CPU, measured once and stored in the cache folder."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from contextlib import suppress
from os import cpu_count
from typing import TYPE_CHECKING, Any

from xla_inspect import folders, store
from xla_inspect.analysis.estimates import make_cpu_rates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect.analysis.estimates import DeviceRates

_SIZE, _WORDS = 1536, 2**24
_RUNS = 7


def read_cpu() -> DeviceRates | None:
    """Return the rates that `measure_cpu` stored for this machine, or None."""
    path = _find_file()
    with suppress(OSError, ValueError, KeyError, TypeError):
        if path is not None:
            return make_cpu_rates(**json.loads((store.read_stored(path) or b"").decode())["rates"])
    return None


def measure_cpu() -> DeviceRates:
    """Measure matmuls, memory, element-wise work and the launch of a program on this machine, and store the rates."""
    import jax
    import jax.numpy as jnp

    device = jax.devices("cpu")[0]

    def put(shape: tuple[int, ...]) -> Any:  # noqa: ANN401 - an array of JAX
        return jax.device_put(jnp.ones(shape, jnp.float32), device)

    square, words, one = put((_SIZE, _SIZE)), put((_WORDS,)), put((8,))
    product = _time(jax.jit(lambda x: x @ x), square)
    added = _time(jax.jit(lambda x: x + 1.0), words)
    # Sixteen multiplications and additions for each number take longer than its traffic.
    repeated = _time(jax.jit(lambda x: _repeat(x, 64)), words)
    launch = _time(jax.jit(lambda x: x + 1.0), one)
    rates: dict[str, Any] = {
        "bandwidth": 2 * 4 * _WORDS / added,
        "products": dict.fromkeys(("f32", "bf16"), 2 * _SIZE**3 / product),
        "elements": 2 * 64 * _WORDS / max(repeated, added),
        "launch": launch,
    }
    path = _find_file()
    if path is not None:
        with suppress(OSError):
            store.write_whole(path, json.dumps({"rates": rates, "cpus": cpu_count()}).encode())
    return make_cpu_rates(**rates)


def _repeat(x: Any, times: int) -> Any:  # noqa: ANN401 - an array of JAX
    for _ in range(times):
        x = x * 0.5 + 1.0
    return x


def _time(function: Callable[[Any], Any], argument: Any) -> float:  # noqa: ANN401 - an array of JAX
    """Return the shortest time of several runs after a first one, which compiles."""
    function(argument).block_until_ready()
    seconds = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        function(argument).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _find_file() -> Path | None:
    """Return the file of this machine's rates, or None without a cache folder."""
    folder = folders.find_cache()
    machine = f"{platform.node()} {platform.machine()} {cpu_count()}"
    return folder / f"cpu-{hashlib.sha256(machine.encode()).hexdigest()[:16]}.json" if folder else None
