"""Questions about the order of passes: one before another, and the first pass that adds or removes an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_inspect.captured import Capture, PassChange


def runs_once_before(capture: Capture, once: str, later: str) -> bool:
    """Return whether one pass runs exactly once, before the first run of another pass.

    Raises:
        ValueError: The first pass runs once, and the other one never.
    """
    names = [run.name for run in capture.runs]
    return names.count(once) == 1 and names.index(once) < names.index(later)


def run_in_order(capture: Capture, *names: str) -> bool:
    """Return whether the first runs of some passes are in the order of the names.

    Raises:
        ValueError: One of the passes did not run.
    """
    ran = [run.name for run in capture.runs]
    places = [ran.index(name) for name in names]
    return places == sorted(places)


def find_first_fusing(capture: Capture) -> str:
    """Return the first pass after which the module contains a fusion, or an empty string."""
    return next((step.name for step in capture.passes if "fusion" in step.module.opcode_counts()), "")


def find_change(capture: Capture, opcode: str, *, left: int = 0) -> PassChange:
    """Return the first pass after which at most `left` instructions of an opcode remain.

    Only passes that changed the module are considered.

    Raises:
        StopIteration: There is no such pass.
    """
    return next(step for step in capture.passes if step.module.opcode_counts()[opcode] <= left)
