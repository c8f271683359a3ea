"""Tracing, lowering and compilation of a program for a target with dumps, or runs of the program."""

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
from .probe_shardings import shard_call
from .probe_subject import load_called

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .probe_subject import Called

UNKNOWN_OPTION = re.compile(r"No such compile option: '([^']*)'")
MOST_SECONDS, MOST_RUNS, FEWEST_RUNS = 5.0, 30, 3
"""Limits of timed runs: the total seconds, the maximum number of runs, and the minimum number."""


def abstract(leaf: Any) -> Any:
    """Return the shape and dtype of an array, and any other value unchanged."""
    import jax

    if isinstance(leaf, jax.ShapeDtypeStruct) or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def find_devices(task: Mapping[str, Any]) -> Sequence[Any]:
    """Return the devices of a task's target: this machine's CPU, or those of a topology that need not be present."""
    import jax

    devices: Sequence[Any]
    if task["kind"] == "cpu":
        devices = jax.devices("cpu")
        return devices[: task["devices"]] if task["devices"] else devices
    from jax.experimental import topologies

    name, platform, options = task["topology"]
    devices = topologies.get_topology_desc(name, platform, **options).devices
    return devices


def jit(call: Called, **more: Any) -> tuple[Any, dict[str, Any]]:
    """Return the jitted function of a call, and the settings of the call that concern a mesh (`mesh`, `specs`)."""
    import jax

    settings = dict(call.settings)
    around: dict[str, Any] = {name: settings.pop(name) for name in ("mesh", "specs") if name in settings}
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    # A function that is already jitted keeps its own options.
    jitted = call.function if hasattr(call.function, "lower") else jax.jit(call.function, **options, **more)
    return jitted, around


def compile_task(task: Mapping[str, Any], folder: Path, begin: Callable[[str], None]) -> dict[str, Any]:
    """Trace, lower and compile a program, write the dumps to a folder, and return the other results.

    Args:
        task: The task.
        folder: The folder for the dumps.
        begin: Called with the name of each stage when it starts.
    """
    import jax

    # Some releases do not have this option.
    with suppress(AttributeError):
        jax.config.update("jax_hlo_source_file_canonicalization_regex", re.escape(task["root"] + os.sep))
    call = load_called(task)
    devices = find_devices(task)
    begin("tracing")
    jitted, around = jit(call)
    args, kwargs = jax.tree_util.tree_map(abstract, (call.args, call.kwargs))
    enter: Any = lambda: jax.default_device(devices[0])  # noqa: E731 - a mesh takes its place below
    if around.get("mesh"):
        if task["kind"] == "cpu":
            devices = devices[: reduce(lambda product, size: product * size, around["mesh"].values(), 1)]
        args, enter, mesh = spread(args, around["mesh"], around.get("specs"), devices)
        if any(task.get("specs", ())):
            call.args, call.kwargs = args, kwargs
            with enter():
                args, kwargs, results = shard_call(call, jitted, task["specs"], mesh)
            jitted, _ = jit(call, **results)
    elif any(task.get("specs", ())):
        message = "--in-spec and --out-spec need a mesh; pass --mesh too, such as --mesh data=4"
        raise ValueError(message)
    jax.jit(lambda x: x).lower(0.0)  # whatever JAX loads for the first program is no part of this one's times
    started = time.perf_counter()
    with enter():
        # Older releases cannot trace without lowering.
        traced = jitted.trace(*args, **kwargs) if hasattr(jitted, "trace") else None
        tracing = time.perf_counter() - started
        lowered = traced.lower() if traced is not None else jitted.lower(*args, **kwargs)
    lowering = time.perf_counter() - started - tracing
    jaxpr = traced.jaxpr if traced is not None else None
    begin("compiling")
    started, processor = time.perf_counter(), time.process_time()
    executable, dropped = compile_with_dumps(lowered, {**task["options"], "xla_dump_to": str(folder / "dumps")})
    compiling, processor = time.perf_counter() - started, time.process_time() - processor
    for _ in range(task.get("timed", 0)):
        # The timed compile writes no dumps, and it starts with empty caches because JAX stores its compilations.
        jax.clear_caches()
        with enter():
            again = jitted.lower(*args, **kwargs)
        start = time.process_time()
        compile_with_dumps(again, task["plain_options"])
        processor = min(processor, time.process_time() - start)
    primitives, forms = count_equations(jaxpr)
    return {
        "jaxpr": str(jaxpr) if jaxpr is not None else "",
        "primitives": primitives,
        "parameters": forms,
        "stablehlo": lowered.as_text(),
        "operations": list_operations(lowered),
        "memory": read_memory(executable),
        "cost": read_cost(executable),
        "options_unknown": dropped,
        "seconds": [tracing, lowering, compiling],
        # Processor time covers all threads, and varies little on a busy machine.
        "processor_seconds": processor,
    }


def spread(
    args: tuple[Any, ...],
    axes: Mapping[str, int],
    specs: Any,
    devices: Sequence[Any],
) -> tuple[tuple[Any, ...], Any, Any]:
    """Return the arguments' shapes with shardings over a mesh, a function that returns its context manager, and it."""
    import jax

    sharding = jax.sharding
    # Older releases have no types of axes, and propagate all shardings in the compiler.
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
    # Releases differ in the name of this function, and in older ones the mesh itself is the context manager.
    use: Any = getattr(jax, "set_mesh", None) or getattr(sharding, "use_mesh", None)
    return args, lambda: use(mesh) if use else mesh, mesh


def compile_with_dumps(lowered: Any, options: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Compile with dumps, without options that this release does not know; return the executable and these options.

    Some releases fail to create an executable for a device that is not present; the executable is then None.
    """
    remaining, dropped = dict(options), list[str]()
    while True:
        try:
            return lowered.compile(compiler_options=remaining), dropped
        except Exception as error:
            unknown = UNKNOWN_OPTION.search(str(error))
            if unknown and unknown.group(1) in remaining:
                remaining.pop(unknown.group(1))
                dropped.append(unknown.group(1))
                continue
            dumps = Path(remaining.get("xla_dump_to", ""))
            # Compiler errors are RuntimeErrors.
            if isinstance(error, RuntimeError) or not any(dumps.glob("*after_optimizations.txt")):
                raise
            return None, dropped


def time_runs(task: Mapping[str, Any]) -> dict[str, Any]:
    """Run a program several times on this machine's CPU; return the seconds of all runs but the first, and the median.

    For a program with a mesh, nothing runs, and the result is the reason, as `failed`.
    """
    import jax
    import numpy as np

    call = load_called(task)
    jitted, around = jit(call)
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
    start = time.perf_counter()
    executable = None
    while len(seconds) <= FEWEST_RUNS or (len(seconds) < MOST_RUNS and time.perf_counter() - start < MOST_SECONDS):
        if len(seconds) > 1 and seconds[-1] > MOST_SECONDS:
            break
        # Each run gets new arguments, because they may be donated.
        args, kwargs = jax.tree_util.tree_map(fill, (call.args, call.kwargs))
        if executable is None:
            executable = jitted.lower(*args, **kwargs).compile() if not _has_statics(call) else jitted
        args, kwargs = jax.block_until_ready((args, kwargs))
        started = time.perf_counter()
        jax.block_until_ready(executable(*args, **kwargs))
        seconds.append(time.perf_counter() - started)
    # The first run is left out, because it includes work that is done only once.
    return {"runs": seconds[1:], "median": statistics.median(seconds[1:])}


def _has_statics(call: Called) -> bool:
    return any(name.startswith("static") for name in call.settings) or hasattr(call.function, "lower")
