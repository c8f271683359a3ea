"""Profile the transformer block's gradient on this machine's CPU, and write docs/data/profile-cpu.json.

The file is a Chrome trace, which Perfetto opens and `xla-inspect kernels --trace` reads, of the events that name an
instruction. Run it on an idle machine: `uv run python scripts/measuring/cpu_profile.py [--runs 20]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from measuring.gpu_profile import make, trace_runs
from measuring.run_stamp import measure_here
from programs import transformer_block_grad
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jax.profiler import ProfileData

NANOSECONDS = 1000
"""Of a microsecond, in which a Chrome trace counts."""


def measure(runs: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the version of JAX, and the events of a Chrome trace of some runs of the step."""
    targets.settle()
    step = jax.jit(transformer_block_grad.transformer_block_grad)
    profile = trace_runs(step, make(transformer_block_grad.EXAMPLE), runs)
    return {"jax": jax.__version__}, {"traceEvents": list(as_chrome(profile))}


def as_chrome(profile: ProfileData) -> Iterator[dict[str, Any]]:
    """Yield the events of a profile that name an instruction as those of a Chrome trace, the first at 0.

    Args:
        profile: What the profiler wrote.
    """
    named = [
        (plane.name, at, event, stats)
        for plane in profile.planes
        for at, line in enumerate(plane.lines)
        for event in line.events
        if "hlo_op" in (stats := dict(event.stats))
    ]
    first = min((event.start_ns for _, _, event, _ in named), default=0)
    for process in sorted({plane for plane, *_ in named}):
        yield {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": process}}
    for _, at, event, stats in named:
        yield {
            "ph": "X",
            "pid": 1,
            "tid": at,
            "ts": round((event.start_ns - first) / NANOSECONDS, 3),
            "dur": round(event.duration_ns / NANOSECONDS, 3),
            "name": event.name,
            "args": {"hlo_op": stats["hlo_op"], "hlo_module": stats["hlo_module"]},
        }


if __name__ == "__main__":
    measure_here("profile-cpu.json", "cpu_profile.py", ("runs", 20), measure)
