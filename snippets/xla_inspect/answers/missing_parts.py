"""The parts that a capture of a dump lacks, in the words of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from xla_inspect.captured import Capture

NAMES: Mapping[str, str] = {
    "before": "the module as the compiler got it",
    "after": "the optimized module",
    "passes": "the modules between passes",
    "runs": "the runs of all passes",
    "buffers": "the memory plan",
    "live_ranges": "when values live",
    "thunks": "what a GPU launches",
    "code": "code of kernels",
    "stablehlo": "StableHLO",
    "jaxpr": "the jaxpr",
    "source": "the Python source",
    "cost": "the executable's cost analysis",
    "times": "times",
    "log": "the compiler's reasons",
    "low_level": "programs below HLO",
    "files": "files that cannot be read",
}
"""The names of a capture's fields for a reader."""


def list_absences(capture: Capture, fields: Collection[str] = NAMES.keys()) -> dict[str, str]:
    """Return why fields of a capture are empty, or hold something else than they say, by name.

    Args:
        capture: The capture.
        fields: The names of those that an answer depends on; by default all.
    """
    return {name: reason for name in fields if (reason := capture.missing.get(name))}


def tell_absences(missing: Mapping[str, str]) -> str:
    """Return in one paragraph what is missing and why, or an empty string."""
    if not missing:
        return ""
    return (
        "Not told by these files: "
        + "; ".join(f"{NAMES.get(name, name)} ({reason})" for name, reason in missing.items())
        + "."
    )
