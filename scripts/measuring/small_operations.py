"""Measure the times of small operations with and without `jit`, and write them to docs/data/small-operations.json.

Run it on an idle machine, if possible with a GPU: `uv run python scripts/measuring/small_operations.py [--rounds 400]`.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import jax

from measuring.run_stamp import measure_here
from programs import timed


def time_devices(rounds: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the packages' versions, and the microseconds of each program on the CPU and on the default device."""
    times: dict[str, Any] = {}
    for platform in dict.fromkeys(("cpu", jax.default_backend())):
        (device, *_) = jax.devices(platform)
        with jax.default_device(device):
            times[device.device_kind] = {
                name: {size: _round(timed.time_ways(function, size, rounds)) for size in timed.SIZES}
                for name, function in timed.FUNCTIONS.items()
            }
    return {name: version(name) for name in ("jax", "jaxlib", "numpy")}, {"times": times}


def _round(times: dict[str, float]) -> dict[str, float]:
    return {way: round(microseconds, 1) for way, microseconds in times.items()}


if __name__ == "__main__":
    measure_here("small-operations.json", "small_operations.py", ("rounds", 400), time_devices)
