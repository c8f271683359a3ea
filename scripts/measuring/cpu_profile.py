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

    from xla_inspect.traces import Source

NANOSECONDS = 1000
"""The number of nanoseconds in a microsecond, the unit of Chrome traces."""


def profile_step(runs: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Run the block's gradient under JAX's profiler; return the version of JAX, and Chrome trace events."""
    targets.settle()
    step = jax.jit(transformer_block_grad.transformer_block_grad)
    with trace_runs(step, make(transformer_block_grad.EXAMPLE), runs) as profile:
        return {"jax": jax.__version__}, {"traceEvents": list(as_chrome(profile))}


def as_chrome(profile: Source) -> Iterator[dict[str, Any]]:
    """Yield the events of a profile that belong to an instruction as Chrome trace events, starting at time 0.

    Args:
        profile: The profile.
    """
    events = [event for event in profile.events() if event.op and event.module]
    first = min((event.start for event in events), default=0)
    # Perfetto shows the process names from these metadata events.
    for process in sorted({profile.processes[event.process] for event in events}):
        yield {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": process}}
    for event in events:
        yield {
            "ph": "X",
            "pid": 1,
            "tid": int(event.thread),
            "ts": round((event.start - first) / NANOSECONDS, 3),
            "dur": round(event.duration / NANOSECONDS, 3),
            "name": event.name,
            "args": {"hlo_op": event.op, "hlo_module": event.module},
        }


if __name__ == "__main__":
    measure_here("profile-cpu.json", "cpu_profile.py", ("runs", 20), profile_step)
