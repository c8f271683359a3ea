"""The parts that a capture lacks, with the reasons, by field and as a sentence for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.units import format_amount

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from xla_inspect.captured import Capture

NAMES: Mapping[str, str] = {
    "before": "the unoptimized module",
    "after": "the optimized module",
    "passes": "the modules between passes",
    "runs": "the runs of all passes",
    "buffers": "the memory plan",
    "live_ranges": "the live ranges of values",
    "thunks": "the launches of the GPU",
    "code": "the kernels' code",
    "stablehlo": "StableHLO",
    "jaxpr": "the jaxpr",
    "source": "the Python source",
    "cost": "the executable's cost analysis",
    "times": "times",
    "log": "the compiler's reasons",
    "low_level": "programs below HLO",
    "files": "unreadable files",
}
"""The names of a capture's fields in answers."""


def list_absences(capture: Capture, fields: Collection[str] = NAMES.keys()) -> dict[str, str]:
    """Return the reasons why fields of a capture are empty or incomplete, by field name.

    Args:
        capture: The capture.
        fields: The names of the fields that an answer depends on; by default all.
    """
    return {name: reason for name in fields if (reason := capture.missing.get(name))}


def tell_absences(missing: Mapping[str, str]) -> str:
    """Return one paragraph that lists the missing parts and the reasons, or an empty string."""
    if not missing:
        return ""
    return (
        "These files lack: "
        + "; ".join(f"{NAMES.get(name, name)} ({reason})" for name, reason in missing.items())
        + "."
    )


def show_flops(flops: float, unknown: Collection[str]) -> str:
    """Return a number of operations as text, as in `4.19 M`, or `4.19 M + ?` if it leaves out library calls."""
    return format_amount(flops) + (" + ?" if unknown else "")


def tell_unknown_work(targets: Iterable[str]) -> Iterator[str]:
    """Yield a sentence that names the library calls whose operations are not known, or nothing if there are none."""
    if names := ", ".join(dict.fromkeys(targets)):
        yield f"The flops leave out the operations of {names}, which are not known."
