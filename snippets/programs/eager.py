"""The two-layer MLP in three modes: which executables each compiles, what they write, and how many it launches."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from jax.profiler import ProfileData, ProfileOptions

from programs import mlp as model

LAUNCH = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"
"""What XLA's profiler calls a launch of an executable on the CPU."""


def eager() -> dict[str, tuple[list[tuple[str, int]], int]]:
    """Return for each mode its executables, with their names and the bytes each writes, and how many it launches."""
    random = np.random.default_rng(0)
    arrays = [jax.device_put(random.normal(0, 0.05, leaf.shape).astype(leaf.dtype)) for leaf in model.EXAMPLE]
    # Executables of earlier calls would be found again, and not be seen to be compiled.
    jax.clear_caches()
    found = {"eagerly": observe(model.mlp, arrays)}
    with jax.disable_jit():
        found["`jax.disable_jit`"] = observe(model.mlp, arrays)
    return {**found, "under `jax.jit`": observe(jax.jit(model.mlp), arrays)}


def observe(function: Callable[..., jax.Array], arrays: list[jax.Array]) -> tuple[list[tuple[str, int]], int]:
    """Return the executables that the first call of a function compiles, and how many the second launches."""
    client = jax.devices("cpu")[0].client
    before = list(client.live_executables())
    jax.block_until_ready(function(*arrays))
    compiled = [made for made in client.live_executables() if not any(made is other for other in before)]
    return (
        [(made.hlo_modules()[0].name, made.get_compiled_memory_stats().output_size_in_bytes) for made in compiled],
        count_launches(lambda: function(*arrays)),
    )


def count_launches(call: Callable[[], jax.Array]) -> int:
    """Return how many executables a call launches, by XLA's own profile of it."""
    options = ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            jax.block_until_ready(call())
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = ProfileData.from_file(str(file)).planes
        return sum(event.name == LAUNCH for plane in planes for line in plane.lines for event in line.events)


if __name__ == "__main__":
    for mode, (executables, launches) in eager().items():
        print(mode, executables, launches)
