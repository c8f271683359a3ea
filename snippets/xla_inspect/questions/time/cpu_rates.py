"""The rates of this machine's CPU, measured once and stored in the cache folder."""

from __future__ import annotations

import hashlib
import json
import platform
import timeit
from contextlib import suppress
from functools import reduce
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
            return make_cpu_rates(**json.loads(store.read_stored(path) or b"")["rates"])
    return None


def measure_cpu() -> DeviceRates:
    """Measure matmuls, memory, element-wise work and the launch of a program on this machine, and store the rates."""
    import jax
    import jax.numpy as jnp

    device = jax.devices("cpu")[0]
    square, words, one = (jnp.ones(shape, jnp.float32, device=device) for shape in ((_SIZE, _SIZE), (_WORDS,), (8,)))
    product = _time(jax.jit(lambda x: x @ x), square)
    added = _time(jax.jit(lambda x: x + 1.0), words)
    # Sixty-four multiplications and additions for each number take longer than its traffic.
    repeated = _time(jax.jit(lambda x: reduce(lambda y, _: y * 0.5 + 1.0, range(64), x)), words)
    rates: dict[str, Any] = {
        "bandwidth": 2 * 4 * _WORDS / added,
        "products": dict.fromkeys(("f32", "bf16"), 2 * _SIZE**3 / product),
        "elements": 2 * 64 * _WORDS / max(repeated, added),
        "launch": _time(jax.jit(lambda x: x + 1.0), one),
    }
    path = _find_file()
    if path is not None:
        with suppress(OSError):
            store.write_whole(path, json.dumps({"rates": rates, "cpus": cpu_count()}).encode())
    return make_cpu_rates(**rates)


def _time(function: Callable[[Any], Any], argument: Any) -> float:  # noqa: ANN401 - an array of JAX
    """Return the shortest time of several runs, of which the first one compiles."""
    return min(timeit.repeat(lambda: function(argument).block_until_ready(), repeat=1 + _RUNS, number=1))


def _find_file() -> Path | None:
    """Return the file of this machine's rates, or None without a cache folder."""
    folder = folders.find_cache()
    machine = f"{platform.node()} {platform.machine()} {cpu_count()}"
    return folder / f"cpu-{hashlib.sha256(machine.encode()).hexdigest()[:16]}.json" if folder else None
