"""The times of whole training steps on one GPU, and the memory plans of their executables.

Run it on a machine with a GPU: `uv run --with "jax[cuda13]" python scripts/measuring/step_times.py`. The programs are
those of snippets/scale that need one device. Their weights are random, because the times do not depend on them.
"""

from __future__ import annotations

import importlib
import statistics
import time
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from measuring.gpu_profile import find_versions, list_kernels, summarize, trace_runs
from measuring.run_stamp import measure_here

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAMS = ("gpt2", "vit", "resnet", "unet", "ssm")
PROFILED_STEPS, LISTED_KERNELS = 3, 12
"""The number of steps in a profile, and the number of kernels that a record lists."""

NO_GRAPHS: dict[str, str | bool] = {"xla_gpu_enable_command_buffer": ""}
"""The compiler option that turns CUDA graphs off, because a profile does not name the instructions of their kernels."""


def measure_steps(runs: int) -> tuple[Mapping[str, str], dict[str, Any]]:
    """Return the versions, and the device with the measurements of each program."""
    device = jax.devices("cuda")[0]
    return find_versions(), {
        "device": device.device_kind,
        "steps": {f"{name}.py:step": measure_step(name, runs) for name in PROGRAMS},
    }


def measure_step(name: str, runs: int) -> dict[str, Any]:
    """Compile a program, and run it `runs` times after two warm-up runs.

    Returns:
        `ms`, the median of a step on the host's clock; `range_ms`, the shortest and the longest; `kernels_ms`, the sum
        of all kernels; `kernels`, their number; `peak_bytes`, the peak in the executable's memory plan; and the
        `longest` kernels, with the milliseconds of all launches in a step.
    """
    module = importlib.import_module(f"scale.{name}")
    function, example = module.PROGRAMS["step"]
    donated = getattr(module, "ARGUMENTS", {}).get("donate_argnums")
    lowered = jax.jit(function, donate_argnums=() if donated is None else donated).lower(*example)
    executable = lowered.compile(NO_GRAPHS)
    arguments = list(make_arguments(example))

    def step() -> object:
        result = executable(*arguments)
        if donated is not None:
            arguments[donated] = result[0]  # the donated state is deleted, so the next step needs the new state
        return result

    times = [_time(step) for _ in range(runs + 2)][2:]
    with trace_runs(step, (), PROFILED_STEPS) as profile:
        kernels = summarize(list_kernels(profile, str(executable.as_text()).split()[1].rstrip(",")), PROFILED_STEPS)
    total = {kernel["name"]: round(kernel["us"] * kernel["launches"] / 1000, 3) for kernel in kernels}
    return {
        "ms": round(statistics.median(times), 2),
        "range_ms": [round(min(times), 2), round(max(times), 2)],
        "kernels_ms": round(sum(total.values()), 2),
        "kernels": len(kernels),
        "peak_bytes": executable.memory_analysis().peak_memory_in_bytes,  # type: ignore[union-attr]  # GPUs have a plan
        "longest": dict(sorted(total.items(), key=lambda item: -item[1])[:LISTED_KERNELS]),
    }


def make_arguments(example: Any) -> Any:  # noqa: ANN401 - a pytree of shapes, and one of arrays
    """Return arrays on the device for a pytree of shapes: small random floats, and integers below 999."""
    leaves, tree = jax.tree.flatten(example)
    keys = jax.random.split(jax.random.key(0), len(leaves))
    return jax.tree.unflatten(tree, map(_fill, leaves, keys))


def _fill(leaf: jax.ShapeDtypeStruct, key: jax.Array) -> jax.Array:
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        return (0.02 * jax.random.normal(key, leaf.shape)).astype(leaf.dtype)
    return jax.random.randint(key, leaf.shape, 0, 999, leaf.dtype)


def _time(step: Any) -> float:  # noqa: ANN401 - a function without arguments
    """Return the milliseconds from the call of a step until its result is ready."""
    start = time.perf_counter()
    jax.block_until_ready(step())
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    measure_here("step-times.json", "step_times.py", ("runs", 10), measure_steps)
