"""Measure what the build must not time, and write it to docs/data/speed.json: eager against jit, and compile stages.

Each ratio is the median of paired runs, eager then jit, over and over, so that a machine whose speed drifts slows both.
Run it on an idle machine: `uv run python scripts/measuring/eager_vs_jit.py [--pairs 40]`.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING, Any

# The programs use one device; JAX reads this variable during its import.
os.environ["JAX_NUM_CPU_DEVICES"] = "1"
# A cached capture would skip the compilation that is timed.
os.environ["XLA_INSPECT_CACHE"] = "off"

import jax
import jax.numpy as jnp
from jax.experimental.compilation_cache import compilation_cache

from measuring.gpu_profile import make
from measuring.run_stamp import measure_here
from programs import mlp, product, timed, train_step, transformer_block_grad
from programs.persistent import fresh_cache
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.02
"""The shortest duration of a timed sequence of calls."""


PROGRAMS: dict[str, tuple[Callable[..., jax.Array], tuple[Any, ...]]] = {
    "ten small operations on 8 numbers": (timed.apply_ten, (jax.ShapeDtypeStruct((8,), jnp.float32),)),
    "the same on 2048 x 2048": (timed.apply_ten, (jax.ShapeDtypeStruct((2048, 2048), jnp.float32),)),
    "one product, 2048 x 2048": (product.product, (jax.ShapeDtypeStruct((2048, 2048), jnp.float32),) * 2),
    "the two-layer MLP": (mlp.mlp, mlp.EXAMPLE),
}

STAGES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "the two-layer MLP": (mlp.mlp, mlp.EXAMPLE),
    "its training step": (train_step.train_step, train_step.EXAMPLE),
    "a transformer block's gradient": (transformer_block_grad.transformer_block_grad, transformer_block_grad.EXAMPLE),
}


def time_eager_and_jit(pairs: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Time calls, compile stages and the persistent cache; return the compilers' versions and the median times."""
    targets.settle()
    measured = {
        "eager": {name: time_calls(function, example, pairs) for name, (function, example) in PROGRAMS.items()},
        "stages": {name: time_stages(function, example, pairs // 8) for name, (function, example) in STAGES.items()},
        "persistent": time_cache(*STAGES["a transformer block's gradient"], pairs // 8),
    }
    return {**targets.find_target("h100").versions, **targets.find_target("tpu-v5e").versions}, measured


def time_calls(function: Callable[..., Any], example: tuple[Any, ...], pairs: int) -> dict[str, float | list[float]]:
    """Time eager and jitted calls in pairs; return the median microseconds of each, and the quartiles of the ratio."""
    arrays = make(example)
    jitted = jax.jit(function)
    # The first calls compile, so they are not timed.
    for call in (function, jitted):
        jax.block_until_ready(call(*arrays))
    repeats = max(1, round(SECONDS / stretch(lambda: jitted(*arrays), 3)))
    times = [
        (stretch(lambda: function(*arrays), repeats), stretch(lambda: jitted(*arrays), repeats)) for _ in range(pairs)
    ]
    ratios = [eager / jit for eager, jit in times]
    low, _, high = statistics.quantiles(ratios, n=4)
    return {
        "eager_us": round(statistics.median(eager for eager, _ in times) * 1e6, 1),
        "jit_us": round(statistics.median(jit for _, jit in times) * 1e6, 1),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_quartiles": [round(low, 2), round(high, 2)],
    }


def stretch(call: Callable[[], Any], repeats: int) -> float:
    """Call a function several times in a row, and return the average seconds of a call."""
    start = time.perf_counter()
    for _ in range(repeats):
        # JAX runs asynchronously: without waiting, only the dispatch would be timed.
        jax.block_until_ready(call())
    return (time.perf_counter() - start) / repeats


def time_stages(function: Callable[..., Any], example: tuple[Any, ...], runs: int) -> dict[str, dict[str, float]]:
    """Trace, lower and compile a function several times; return the median milliseconds of each stage, by target."""
    return {
        target: {stage: round(1e3 * seconds, 1) for stage, seconds in _time_target(function, example, target, runs)}
        for target in ("cpu", "h100", "tpu-v5e")
    }


def _time_target(
    function: Callable[..., Any], example: tuple[Any, ...], target: str, runs: int
) -> list[tuple[str, float]]:
    times: dict[str, list[float]] = {"trace": [], "lower": [], "compile": []}
    with jax.default_device(targets.find_target(target).devices()[0]):
        for _ in range(runs + 1):
            # Otherwise JAX would reuse the trace and the executable of the last run.
            jax.clear_caches()
            start = time.perf_counter()
            traced = jax.jit(function).trace(*example)
            times["trace"].append(time.perf_counter() - start)
            lowered = traced.lower()
            times["lower"].append(time.perf_counter() - start - times["trace"][-1])
            options = {"xla_gpu_autotune_level": 0} if target == "h100" else {}
            lowered.compile(compiler_options=options)
            times["compile"].append(time.perf_counter() - start - times["trace"][-1] - times["lower"][-1])
    # The first run also loads what the later ones reuse, so it is left out of the median.
    return [(stage, statistics.median(values[1:])) for stage, values in times.items()]


def time_cache(function: Callable[..., Any], example: tuple[Any, ...], runs: int) -> dict[str, float]:
    """Time compiling for the CPU and loading from the persistent cache; return the median milliseconds of each."""
    compile_: list[float] = []
    load: list[float] = []
    with fresh_cache() as folder:
        for _ in range(runs):
            for file in folder.iterdir():
                file.unlink()
            for times in (compile_, load):
                compilation_cache.reset_cache()
                jax.clear_caches()
                lowered = jax.jit(function).lower(*example)
                start = time.perf_counter()
                lowered.compile()
                times.append(time.perf_counter() - start)
    return {
        "compile_ms": round(statistics.median(compile_) * 1e3, 1),
        "load_ms": round(statistics.median(load) * 1e3, 1),
    }


if __name__ == "__main__":
    measure_here("speed.json", "eager_vs_jit.py", ("pairs", 40), time_eager_and_jit)
