"""Profile the transformer block's gradient on this machine's CPU, and write docs/data/profile-cpu.json.

The file is a Chrome trace, which Perfetto opens and `xla-inspect kernels --trace` reads, of the events that name an
instruction. Run it on an idle machine: `uv run python scripts/measuring/cpu_profile.py [--runs 20]`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
from jax.profiler import ProfileData, ProfileOptions

import stamps
from common import ROOT
from measuring.eager_vs_jit import describe_machine
from measuring.gpu_profile import make
from programs import transformer_block_grad
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Iterator

OUT = ROOT / "docs" / "data" / "profile-cpu.json"
NANOSECONDS = 1000
"""Of a microsecond, in which a Chrome trace counts."""


def main() -> None:
    """Profile, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    targets.settle()
    content = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": describe_machine(),
        "runs": runs,
        "traceEvents": record(runs),
    }
    versions = {"jax": jax.__version__}
    stamps.write(OUT, "uv run python scripts/measuring/cpu_profile.py", versions, content)


def record(runs: int) -> list[dict[str, Any]]:
    """Return the events of a Chrome trace of some runs of the step, after one to warm up.

    Args:
        runs: How many.
    """
    arrays = make(transformer_block_grad.EXAMPLE)
    step = jax.jit(transformer_block_grad.transformer_block_grad)
    jax.block_until_ready(step(*arrays))
    options = ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            for _ in range(runs):
                jax.block_until_ready(step(*arrays))
        (file,) = Path(folder).rglob("*.xplane.pb")
        return list(as_chrome(ProfileData.from_file(str(file))))


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
    main()
