"""Explanations for the empty fields of a capture that was read from a dump."""

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
"""The reasons for empty fields for which no dump has data, by field."""

_ABSENT = {
    "before": "there is no before_optimizations in this dump",
    "stablehlo": "there is no module.mlir in this dump",
    "buffers": "there is no buffer assignment in this dump; XLA writes it with --xla_dump_hlo_as_text",
    "live_ranges": "there are no live ranges in this dump; XLA writes them with --xla_dump_hlo_as_text",
    "runs": "there is no record of all passes in this dump; XLA for GPUs and TPUs writes it with "
    "--xla_dump_module_metadata",
}
"""The reasons for empty fields for which some dumps have data, by field."""

_TIMES = (
    "a dump does not say how long the compile took; XLA for GPUs and TPUs writes it with --xla_dump_module_metadata"
)
_BETWEEN = "there is no module between passes in this dump; XLA writes them with --xla_dump_hlo_pass_re=.*"
_PICTURES = (".html", ".dot", ".url")


def explain_absences(
    capture: Capture, module: DumpedModule, problems: Mapping[str, str], others: Mapping[str, str]
) -> dict[str, str]:
    """Return, by field name, the reason that a field of a capture is empty or holds a substitute.

    Args:
        capture: The capture read from the files.
        module: The module.
        problems: The reasons that some of its files could not be read.
        others: Further reasons by field; an empty reason is ignored.
    """
    reasons = dict(_NEVER)
    reasons |= {name: reason for name, reason in _ABSENT.items() if not getattr(capture, name)}
    if not capture.times.compiling:
        reasons["times"] = _TIMES
    if not module.between:
        reasons["passes"] = _BETWEEN
        if any(ending.endswith(_PICTURES) and "after_" in ending for ending in module.files):
            reasons["passes"] += "; pictures of them (.html, .dot, .url) are not read"
    if not module.thunks and find_entry(capture.target).kind == "gpu":
        reasons["thunks"] = "there is no thunk_sequence in this dump, so blocks and threads of kernels are not known"
    # The reasons of the caller come last, because they are about this dump and not about dumps in general.
    reasons |= {name: reason for name, reason in others.items() if reason}
    if problems:
        reasons["files"] = "; ".join(f"{ending}: {problem}" for ending, problem in sorted(problems.items())[:3])
    return reasons
