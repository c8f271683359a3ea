"""The two-layer MLP in three modes: which executables each compiles, what they write, and how many it launches."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.profiler import ProfileData, ProfileOptions

from programs import mlp as model
from programs import product, train_step

LAUNCH = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"
"""The name of a launch of an executable on the CPU in XLA's profiler."""


def eager() -> dict[str, tuple[list[tuple[str, int]], int]]:
    """Return for each mode the executables it compiles (name, bytes of the result), and how many a run launches."""
    random = np.random.default_rng(0)
    arrays = [jax.device_put(random.normal(0, 0.05, leaf.shape).astype(leaf.dtype)) for leaf in model.EXAMPLE]
    # Executables of earlier calls would be found again, and not be seen to be compiled.
    jax.clear_caches()
    found = {"eagerly": observe(model.mlp, arrays)}
    with jax.disable_jit():
        found["`jax.disable_jit`"] = observe(model.mlp, arrays)
    return {**found, "under `jax.jit`": observe(jax.jit(model.mlp), arrays)}


def observe(function: Callable[..., jax.Array], arrays: list[jax.Array]) -> tuple[list[tuple[str, int]], int]:
    """Return (name, result bytes) of each executable that a first call compiles, and the launches of a second."""
    client = jax.devices("cpu")[0].client
    before = list(client.live_executables())
    jax.block_until_ready(function(*arrays))
    compiled = [made for made in client.live_executables() if not any(made is other for other in before)]
    return (
        [(made.hlo_modules()[0].name, made.get_compiled_memory_stats().output_size_in_bytes) for made in compiled],
        count_launches(partial(function, *arrays)),
    )


def count_launches(call: Callable[[], Any]) -> int:
    """Return how many executables a call launches, by XLA's own profile of it."""
    options = ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            jax.block_until_ready(call())
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = ProfileData.from_file(str(file)).planes
        return sum(event.name == LAUNCH for plane in planes for line in plane.lines for event in line.events)


def eager_product() -> tuple[list[tuple[str, int]], int]:
    """Return (name, result bytes) of each executable of one eager matmul, and the launches of a second call."""
    arrays = [jax.device_put(np.ones(leaf.shape, leaf.dtype)) for leaf in product.EXAMPLE]
    jax.clear_caches()
    return observe(product.product, arrays)


def eager_training() -> dict[str, int]:
    """Return how many executables a training step launches, eagerly and jitted."""
    arrays = jax.tree.map(lambda leaf: jax.device_put(np.ones(leaf.shape, leaf.dtype)), train_step.EXAMPLE)
    ways: dict[str, Callable[..., Any]] = {
        "eagerly": train_step.train_step,
        "under `jax.jit`": jax.jit(train_step.train_step),
    }
    counts = {}
    for name, way in ways.items():
        jax.block_until_ready(way(*arrays))
        counts[name] = count_launches(partial(way, *arrays))
    return counts


if __name__ == "__main__":
    for mode, (executables, launches) in eager().items():
        print(mode, executables, launches)
