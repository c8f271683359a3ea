"""The parts of a capture that a compiler's dumps hold, whichever process left them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.compilation import dumps, kernel_code, normalize, thunks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from xla_inspect.captured import PassRun
    from xla_inspect.compilation.dumps import Dumps

COLLECT = {"cpu": kernel_code.collect_cpu, "gpu": kernel_code.collect_gpu, "tpu": kernel_code.collect_tpu}


def read_fields(dumped: Dumps, kind: str, find_runs: Callable[[str], Sequence[PassRun]]) -> dict[str, Any]:
    """Return fields of a capture by name, as far as the dumps of one compile tell them.

    Args:
        dumped: The dumps.
        kind: `cpu`, `gpu` or `tpu`.
        find_runs: Returns the runs of passes over the module whose text it is given.
    """
    frames = normalize.Frames()
    before = frames.clean(dumped.find("before_optimizations.txt"))
    after = frames.clean(dumped.find("after_optimizations.txt"))
    runs = tuple(find_runs(before))
    return {
        "before": before,
        "after": after,
        "runs": runs,
        "passes": normalize.find_changes(dumped.passes, before, runs, frames),
        "buffers": dumped.find("after_optimizations-buffer-assignment.txt"),
        "live_ranges": dumped.find("after_optimizations-live-range.txt"),
        "memory_report": dumped.find("after_optimizations-memory-usage-report.txt"),
        "thunks": thunks.read_thunks(dumped.find("thunk_sequence.txt"), dumped.find("thunk_metadata.txt")),
        "fusion_log": thunks.read_fusion_log(dumped.find("priority_fusion_dump.txt")),
        "code": COLLECT[kind](dumped),
        "frames": frames.chains,
    }


def read_folder(folder: Path, kind: str, find_runs: Callable[[str], Sequence[PassRun]]) -> dict[str, Any]:
    """Return fields of a capture by name, of the one program whose dumps a folder holds; see `read_fields`."""
    return read_fields(dumps.read(folder), kind, find_runs)
