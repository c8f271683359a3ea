"""What the explorer's script shows of a capture's launches, as small JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import HOST_CALL, STATEMENT, calls_host, model_launches
from xla_inspect.report import BOX_KINDS, name_kind
from xla_inspect.targets import explain_absence, find_hardware

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.analysis import Launched, SourceLine
    from xla_inspect.captured import Capture
    from xla_inspect.report import Measured


def describe_kernels(
    capture: Capture, locate: Callable[[SourceLine], object], times: Measured | None = None
) -> dict[str, Any]:
    """Return the launches of one capture; `static/kernels.js` reads it.

    Args:
        capture: The capture.
        locate: Returns what stands for a line of Python: its number in the explorer's table.
        times: What was measured of the program on the target, if anything.

    Returns:
        A mapping that JSON can hold:

        - `launches`: in order, each with `name`, `sort` (one of `kinds`), `kind`, `fusion`, `role` (where it is no
          kernel), `within` (loops and branches around it), `runs` (not where nobody knows), `read`, `written` and
          `chip` (bytes of one run, of main memory and on the chip), `flops`, `transcendentals`, `unknown` (library
          calls that say nothing of their work), `grid`, `threads`, `shared` (bytes of shared memory, on a GPU),
          `places` (lines of Python, its own first), `seconds` (the least time of one run), `limit` (what needs that
          long) and `measured` (seconds, where recorded). What is empty or null is left out.
        - `hardware`: `bandwidth`, `source`, `devices`, `gap` (what is not published) and `roofs` (`[name, operations a
          second]`, those that a launch uses), or null where there are no figures, and then `reason`.
        - `kinds`: what each sort is called.
        - `statement`: what the model leaves out.
        - `measured`: `date`, `device`, `versions`, `others` (what was launched under a name not here) and `changed`
          (sort of kernel to how much more often it was launched), or null.
    """
    launches = model_launches(capture)
    hardware = find_hardware(capture.target)
    roofs = {roof.name: roof.rate for launched in launches if launched.bound for roof in launched.bound.roofs}
    return {
        "statement": STATEMENT,
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
        "launches": [_describe(launched, locate, times.seconds if times else {}) for launched in launches],
    }


def _describe(
    launched: Launched, locate: Callable[[SourceLine], object], seconds: Mapping[str, float]
) -> dict[str, Any]:
    launch, thunk = launched.launch, launched.launch.thunk
    kind = thunk.kind if thunk else launch.opcode
    described = {
        "name": launch.name,
        "sort": name_kind(launch.instruction),
        "kind": f"{kind}, {HOST_CALL}" if calls_host(launch.instruction) else kind,
        "fusion": launch.fusion_kind,
        "role": None if launch.role == "kernel" else launch.role,
        "within": list(launch.within),
        "runs": launch.runs,
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
        "measured": seconds.get(launch.name),
    }
    # What is empty is left out: most launches have no loop around them and call no library.
    return {name: value for name, value in described.items() if value not in (None, [], "")}
