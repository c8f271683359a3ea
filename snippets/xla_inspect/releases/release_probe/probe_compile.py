"""A program traced, lowered and compiled for a target with its dumps, or run."""

from __future__ import annotations

import os
import re
import statistics
import time
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .probe_outcome import count_equations, list_operations, read_cost, read_memory
from .probe_subject import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .probe_subject import Called

UNKNOWN_OPTION = re.compile(r"No such compile option: '([^']*)'")
MOST_SECONDS, MOST_RUNS, FEWEST_RUNS = 5.0, 30, 3
"""For how long a program is run for and how often at most, and how often at least, where its time is asked for."""


def abstract(leaf: Any) -> Any:
    """Return the shape and dtype of an array, and anything else as it is."""
    import jax

    if isinstance(leaf, jax.ShapeDtypeStruct) or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def find_devices(task: Mapping[str, Any]) -> Sequence[Any]:
    """Return the devices of a task's target: this machine's CPU, or those of a topology that need not be here."""
    import jax

    devices: Sequence[Any]
    if task["kind"] == "cpu":
        devices = jax.devices("cpu")
        return devices[: task["devices"]] if task["devices"] else devices
    from jax.experimental import topologies

    name, platform, options = task["topology"]
    devices = topologies.get_topology_desc(name, platform, **options).devices
    return devices


def jit(called: Called) -> tuple[Any, dict[str, Any]]:
    """Return the function jitted, and what of its settings is about a mesh."""
    import jax

    settings = dict(called.settings)
    around: dict[str, Any] = {name: settings.pop(name) for name in ("mesh", "specs") if name in settings}
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    jitted = called.function if hasattr(called.function, "lower") else jax.jit(called.function, **options)
    return jitted, around


def compile_task(task: Mapping[str, Any], folder: Path, begin: Callable[[str], None]) -> dict[str, Any]:
    """Trace, lower and compile a program, leave the dumps in a folder, and return what else is to be known of it.

    Args:
        task: The task.
        folder: Where the dumps go.
        begin: Hears what is begun.
    """
    import jax

    with suppress(AttributeError):
        jax.config.update("jax_hlo_source_file_canonicalization_regex", re.escape(task["root"] + os.sep))
    called = load(task)
    devices = find_devices(task)
    begin("tracing")
    jitted, around = jit(called)
    args, kwargs = jax.tree_util.tree_map(abstract, (called.args, called.kwargs))
    enter: Any = lambda: jax.default_device(devices[0])  # noqa: E731 - a mesh takes its place below
    if around.get("mesh"):
        if task["kind"] == "cpu":
            devices = devices[: reduce(lambda product, size: product * size, around["mesh"].values(), 1)]
        args, enter = spread(args, around["mesh"], around.get("specs"), devices)
    jax.jit(lambda x: x).lower(0.0)  # whatever JAX loads for the first program is no part of this one's times
    started = time.perf_counter()
    with enter():
        traced = jitted.trace(*args, **kwargs) if hasattr(jitted, "trace") else None
        tracing = time.perf_counter() - started
        lowered = traced.lower() if traced is not None else jitted.lower(*args, **kwargs)
    lowering = time.perf_counter() - started - tracing
    jaxpr = traced.jaxpr if traced is not None else None
    begin("compiling")
    started, spent = time.perf_counter(), time.process_time()
    compiled, dropped = compile_with_dumps(lowered, {**task["options"], "xla_dump_to": str(folder / "dumps")})
    compiling, spent = time.perf_counter() - started, time.process_time() - spent
    for _ in range(task.get("timed", 0)):
        # Without dumps, which take time of their own, and anew: JAX keeps what it compiled.
        jax.clear_caches()
        with enter():
            again = jitted.lower(*args, **kwargs)
        begun = time.process_time()
        compile_with_dumps(again, task["plain_options"])
        spent = min(spent, time.process_time() - begun)
    counted, forms = count_equations(jaxpr)
    return {
        "jaxpr": str(jaxpr) if jaxpr is not None else "",
        "primitives": counted,
        "parameters": forms,
        "stablehlo": lowered.as_text(),
        "operations": list_operations(lowered),
        "memory": read_memory(compiled),
        "cost": read_cost(compiled),
        "options_unknown": dropped,
        "seconds": [tracing, lowering, compiling],
        # That of all threads, and so little different on a busy machine.
        "processor_seconds": spent,
    }


def spread(
    args: tuple[Any, ...],
    axes: Mapping[str, int],
    specs: Any,
    devices: Sequence[Any],
) -> tuple[tuple[Any, ...], Any]:
    """Return examples that lie on a mesh of devices, and what enters the mesh to lower under."""
    import jax

    sharding = jax.sharding
    kinds = (sharding.AxisType.Auto,) * len(axes) if hasattr(sharding, "AxisType") else ()
    shape, names = tuple(axes.values()), tuple(axes)
    if hasattr(jax, "make_mesh"):
        mesh = jax.make_mesh(shape, names, *([kinds] if kinds else []), devices=devices)
    else:
        from jax.experimental import mesh_utils

        mesh = sharding.Mesh(mesh_utils.create_device_mesh(shape, devices), names)

    def place(spec: Any, arrays: Any) -> Any:
        along = sharding.NamedSharding(mesh, spec)
        return jax.tree_util.tree_map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=along), arrays)

    if specs is not None:
        args = jax.tree_util.tree_map(
            place, tuple(specs), args, is_leaf=lambda leaf: isinstance(leaf, sharding.PartitionSpec)
        )
    use: Any = getattr(jax, "set_mesh", None) or getattr(sharding, "use_mesh", None)
    return args, lambda: use(mesh) if use else mesh


def compile_with_dumps(lowered: Any, options: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Compile with dumps, without the options that this release does not know; return it and their names.

    Some releases fail over an executable for a device that is not here when the compiler is done: then there is none.
    """
    asked, dropped = dict(options), list[str]()
    while True:
        try:
            return lowered.compile(compiler_options=asked), dropped
        except Exception as error:
            unknown = UNKNOWN_OPTION.search(str(error))
            if unknown and unknown.group(1) in asked:
                asked.pop(unknown.group(1))
                dropped.append(unknown.group(1))
                continue
            dumps = Path(asked.get("xla_dump_to", ""))
            # What a compiler says itself is a RuntimeError.
            if isinstance(error, RuntimeError) or not any(dumps.glob("*after_optimizations.txt")):
                raise
            return None, dropped


def time_runs(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds that each of some runs of a program takes on this machine's CPU, compiled as users have it."""
    import jax
    import numpy as np

    called = load(task)
    jitted, around = jit(called)
    if around.get("mesh"):
        return {"failed": "a program over several devices is not timed: the CPU only simulates them"}

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        dtypes: Any = jax.dtypes
        if dtypes.issubdtype(leaf.dtype, getattr(dtypes, "prng_key", np.void)):
            return jax.random.split(jax.random.key(0), leaf.shape) if leaf.shape else jax.random.key(0)
        numbers = np.random.default_rng(0).random(leaf.shape)
        return jax.numpy.asarray(numbers).astype(leaf.dtype)

    seconds: list[float] = []
    spent = time.perf_counter()
    compiled = None
    while len(seconds) <= FEWEST_RUNS or (len(seconds) < MOST_RUNS and time.perf_counter() - spent < MOST_SECONDS):
        if len(seconds) > 1 and seconds[-1] > MOST_SECONDS:
            break
        # Each run has arguments of its own, since they may be donated.
        args, kwargs = jax.tree_util.tree_map(fill, (called.args, called.kwargs))
        if compiled is None:
            compiled = jitted.lower(*args, **kwargs).compile() if not _has_statics(called) else jitted
        args, kwargs = jax.block_until_ready((args, kwargs))
        started = time.perf_counter()
        jax.block_until_ready(compiled(*args, **kwargs))
        seconds.append(time.perf_counter() - started)
    return {"runs": seconds[1:], "median": statistics.median(seconds[1:])}


def _has_statics(called: Called) -> bool:
    return any(name.startswith("static") for name in called.settings) or hasattr(called.function, "lower")
