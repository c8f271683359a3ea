"""Why a capture that was read from a dump lacks what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.targets import find_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.dumps.dump_module import DumpedModule

_NEVER = {
    "jaxpr": "a dump begins below JAX",
    "source": "a dump names the lines of files, and holds none",
    "cost": "no executable is there to count its work",
    "log": "a dump holds nothing of what the compiler said of its reasons",
}
"""What no dump tells."""

_ABSENT = {
    "before": "there is no before_optimizations in this dump",
    "stablehlo": "there is no module.mlir in this dump",
    "buffers": "there is no buffer assignment in this dump; XLA writes it with --xla_dump_hlo_as_text",
    "live_ranges": "there are no live ranges in this dump; XLA writes them with --xla_dump_hlo_as_text",
    "runs": "there is no record of all passes in this dump; XLA for GPUs and TPUs writes it with "
    "--xla_dump_module_metadata",
}
"""What a dump may tell, by the field that is empty where it does not."""

_TIMES = (
    "a dump does not say how long the compile took; XLA for GPUs and TPUs writes it with --xla_dump_module_metadata"
)
_BETWEEN = "there is no module between passes in this dump; XLA writes them with --xla_dump_hlo_pass_re=.*"
_PICTURES = (".html", ".dot", ".url")


def explain_absences(
    capture: Capture, module: DumpedModule, problems: Mapping[str, str], others: Mapping[str, str]
) -> dict[str, str]:
    """Return why fields of a capture are empty, or hold something else than they say, by name.

    Args:
        capture: What the files told.
        module: The module.
        problems: Why files of it could not be read.
        others: What else is known of fields; empty where there is nothing.
    """
    found = dict(_NEVER)
    found |= {name: reason for name, reason in _ABSENT.items() if not getattr(capture, name)}
    if not capture.times.compiling:
        found["times"] = _TIMES
    if not module.between:
        found["passes"] = _BETWEEN
        if any(ending.endswith(_PICTURES) and "after_" in ending for ending in module.files):
            found["passes"] += "; pictures of them (.html, .dot, .url) are not read"
    if not module.thunks and find_entry(capture.target).kind == "gpu":
        found["thunks"] = "there is no thunk_sequence in this dump, so blocks and threads of kernels are not known"
    found |= {name: reason for name, reason in others.items() if reason}
    if problems:
        found["files"] = "; ".join(f"{ending}: {problem}" for ending, problem in sorted(problems.items())[:3])
    return found
