"""The data about a capture's launches for the explorer's scripts, as small JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import HOST_CALL, STATEMENT, calls_host, model_launches
from xla_inspect.analysis.estimates import time_program
from xla_inspect.report import BOX_KINDS, name_kind
from xla_inspect.targets import explain_absence, find_hardware

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.analysis import Launched, SourceLine
    from xla_inspect.analysis.estimates import Estimate, TimedLaunch
    from xla_inspect.captured import Capture
    from xla_inspect.report import Measured


TIMES = (
    "The bars show the time that all runs of a launch add to the program. The times are estimates by cost models, not "
    "measurements."
)
"""The limits of the bars with estimated times."""

_WIDER = " Their ranges are wider, because the compiler's own estimates are missing."


def describe_kernels(
    capture: Capture, locate: Callable[[SourceLine], object], times: Measured | None = None
) -> dict[str, Any]:
    """Return the launches of one capture; `static/kernels.js` reads it.

    Args:
        capture: The capture.
        locate: Returns the number of a line of Python in the explorer's table.
        times: The measurements of the program on the target, if there are any.

    Returns:
        A mapping that can be written as JSON:

        - `launches`: the launches in order, each with `name`, `sort` (one of `kinds`), `kind`, `fusion`, `role` (if it
          is not a kernel), `within` (loops and branches around it), `runs` (if known), otherwise `assumed` (the number
          of runs if each unknown loop runs once), `read`, `written` and `chip` (bytes of one run, of main memory and on
          the chip), `flops`, `transcendentals`, `unknown` (library calls that do not report their work), `grid`,
          `threads`, `shared` (bytes of shared memory, on a GPU), `places` (lines of Python, its own first), `seconds`
          (the least time of one run), `limit` (the resource that needs that time) `estimate` (the least, likely and
          greatest seconds that all its runs add to the program) and `measured` (seconds, if recorded). Empty and null
          values are left out.
        - `hardware`: `bandwidth`, `source`, `devices`, `gap` (the figures that are not published) and `roofs` (`[name,
          operations per second]` of each roof that a launch uses), or null without published figures; then `reason`
          explains their absence.
        - `kinds`: the name of each sort.
        - `statement`: the limits of the model.
        - `times`: the limits of the estimates, or an empty string without estimates.
        - `estimate`: the least, likely and greatest seconds of the program, or null without estimates. The greatest
          seconds are null if the operations of a part are not known.
        - `measured`: `date`, `device`, `versions`, `others` (seconds of measured kernels that are not in `launches`, by
          name) and `changed` (see `Measured`), or null.
    """
    launches = model_launches(capture)
    hardware = find_hardware(capture.target)
    step = time_program(capture)
    timed = step.by_name if step else {}
    roofs = {roof.name: roof.rate for launched in launches if launched.bound for roof in launched.bound.roofs}
    return {
        "statement": STATEMENT,
        "times": TIMES + ("" if step.has_figures else _WIDER) if step else "",
        "estimate": _round(step.seconds) if step else None,
        "kinds": BOX_KINDS,
        "reason": "" if hardware else explain_absence(capture.target),
        "hardware": {
            "bandwidth": hardware.bandwidth,
            "source": hardware.source,
            "devices": hardware.devices,
            "gap": hardware.gap,
            "roofs": sorted(roofs.items(), key=lambda roof: -roof[1]),
        }
        if hardware
        else None,
        "measured": times.describe({launched.launch.name for launched in launches}) if times else None,
        "launches": [_describe(launched, locate, times.seconds if times else {}, timed) for launched in launches],
    }


def _describe(
    launched: Launched,
    locate: Callable[[SourceLine], object],
    seconds: Mapping[str, float],
    timed: Mapping[str, TimedLaunch],
) -> dict[str, Any]:
    launch, thunk = launched.launch, launched.launch.thunk
    kind = thunk.kind if thunk else launch.opcode
    fields = {
        "name": launch.name,
        "sort": name_kind(launch.instruction),
        "kind": f"{kind}, {HOST_CALL}" if calls_host(launch.instruction) else kind,
        "fusion": launch.fusion_kind,
        "role": None if launch.role == "kernel" else launch.role,
        "within": list(launch.within),
        "runs": launch.runs,
        "assumed": launch.assumed_runs if launch.runs is None else None,
        "read": launched.read,
        "written": launched.written,
        "chip": launched.on_chip,
        "flops": launched.work.flops,
        "transcendentals": launched.work.transcendentals,
        "unknown": list(launched.work.unknown),
        "grid": thunk.grid if thunk else None,
        "threads": thunk.threads if thunk else None,
        "shared": thunk.shared_memory if thunk else None,
        "places": [locate(line) for line in launched.lines],
        "seconds": launched.bound.seconds if launched.bound else None,
        "limit": launched.bound.limit if launched.bound else "",
        "estimate": _round(timed[launch.name].total) if launch.name in timed else None,
        "measured": seconds.get(launch.name),
    }
    # Most launches have no loop around them and call no library, so leaving out empty values makes the data small.
    return {name: value for name, value in fields.items() if value not in (None, [], "")}


def _round(estimate: Estimate) -> list[float | None]:
    # The explorer shows three digits.
    low, likely, high = (float(f"{seconds:.3g}") for seconds in (estimate.low, estimate.likely, estimate.high))
    return [low, likely, None if estimate.is_least else high]
