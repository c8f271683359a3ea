"""The profiles of programs under JAX's profiler: the times of all kernels, written as JSON.

`scripts/measure` starts this module in a process of its own, with the platform in JAX_PLATFORMS.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.profiler import ProfileOptions

from xla_inspect.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from xla_inspect.traces import Event, Source

NO_DEVICE = 3
"""The exit status if JAX finds no device of the platform."""

PACKAGES = ("jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda13-pjrt", "nvidia-cublas", "nvidia-cudnn-cu13")


def main() -> None:
    """Run the programs of a job, given as JSON on the command line, and write the measurements."""
    job = json.loads(sys.argv[1])
    try:
        device = jax.devices(job["platform"])[0]
    except RuntimeError as error:
        print(error, file=sys.stderr)
        sys.exit(NO_DEVICE)
    programs: dict[str, Any] = {}
    for name in job["programs"]:
        try:
            programs[name] = profile_program(name, device, job["runs"])
        except Exception as error:  # noqa: BLE001 - a program that fails here must not stop the others
            programs[name] = {"skipped": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}
        print(name, "skipped" if "skipped" in programs[name] else "measured", flush=True)
    record = {"device": device.device_kind, "versions": find_versions(), "runs": job["runs"], "programs": programs}
    Path(job["out"]).write_text(json.dumps(record), encoding="utf-8")


def find_versions() -> dict[str, str]:
    """Return the versions of the installed packages that compile and run a program, by name."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def profile_program(name: str, device: jax.Device, runs: int) -> dict[str, Any]:
    """Run a program several times after a warm-up; return its optimized HLO text and the times of its kernels.

    Args:
        name: A file of snippets/programs that holds a function of its name, and its EXAMPLE.
        device: The device to run on.
        runs: The number of timed runs.
    """
    module = importlib.import_module(f"programs.{name}")
    with jax.default_device(device):
        arrays = make(module.EXAMPLE)
        executable = jax.jit(getattr(module, name)).lower(*arrays).compile()
        text = str(executable.as_text())
        with trace_runs(executable, arrays, runs) as profile:
            return {"module": text, "kernels": summarize(list_kernels(profile, text.split()[1].rstrip(",")), runs)}


@contextmanager
def trace_runs(step: Callable[..., Any], arrays: Sequence[Any], runs: int) -> Iterator[Source]:
    """Yield the profile that JAX's profiler recorded of some runs, after one warm-up run.

    Args:
        step: A compiled or jitted function.
        arrays: The function's arguments.
        runs: The number of recorded runs.
    """
    # The warm-up run compiles and allocates, which must not be part of the profile.
    jax.block_until_ready(step(*arrays))
    options = ProfileOptions()
    # Tracing Python would slow down the host and add its events to the profile.
    options.python_tracer_level = 0
    options.host_tracer_level = 2
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            for _ in range(runs):
                jax.block_until_ready(step(*arrays))
        yield open_trace(Path(folder))


def make(example: Any) -> Any:  # noqa: ANN401 - a pytree of shapes, and one of arrays
    """Return arrays for an example: small random floats with a fixed seed, key 0 for keys, and zeros otherwise."""
    # A fixed seed makes the kernels process the same data in every measurement.
    random = np.random.default_rng(0)

    def fill(leaf: Any) -> Any:  # noqa: ANN401 - a shape, or an example that is a value itself
        if not hasattr(leaf, "shape"):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        floats = jnp.issubdtype(leaf.dtype, np.floating)
        values = random.normal(0, 0.05, leaf.shape) if floats else np.zeros(leaf.shape)
        return jax.device_put(values.astype(leaf.dtype))

    return jax.tree.map(fill, example)


def list_kernels(profile: Source, module: str) -> list[Event]:
    """Return the kernel events of a module in a profile: those of the streams on a GPU, else those of all threads.

    Args:
        profile: The profile.
        module: The name of the HLO module.
    """
    events = [event for event in profile.events() if event.op and event.module == module]
    on_gpu = [event for event in events if profile.processes[event.process].startswith("/device:GPU")]
    if on_gpu:
        return [event for event in on_gpu if profile.threads[event.process, event.thread].startswith("Stream")]
    return events


def summarize(events: Iterable[Event], runs: int) -> list[dict[str, Any]]:
    """Return each instruction's kernels with the median time of one launch, in order of their first start.

    An instruction may launch several kernels, such as a product and the sum of its parts; one launch includes all of
    them. The number of launches in a run is the number of times that its most frequent kernel ran.

    Args:
        events: The kernel events of all runs.
        runs: The number of runs.

    Returns:
        For each instruction `name`, `kernels` (their symbols), `launches` (in one run) and `us` (microseconds of one
        launch).
    """
    durations: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for event in sorted(events, key=lambda event: event.start):
        durations[event.op][event.name].append(event.duration)
    return [
        {"name": name, "kernels": list(kernels), **_time(list(kernels.values()), runs)}
        for name, kernels in durations.items()
    ]


def _time(durations: Sequence[list[float]], runs: int) -> dict[str, float]:
    # A kernel that runs in only some launches contributes its share of them to the time of one launch.
    most = max(map(len, durations))
    launch = sum(statistics.median(times) * len(times) / most for times in durations)
    return {"launches": round(most / runs, 2), "us": round(launch / 1000, 3)}


if __name__ == "__main__":
    main()
