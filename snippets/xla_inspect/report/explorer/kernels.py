"""What the explorer's script shows of a capture's launches, as small JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.report import measured
from xla_inspect.report.hardware import explain_absence, find_hardware
from xla_inspect.report.kernels import STATEMENT, list_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.hlo.record import Capture
    from xla_inspect.hlo.trail import Line
    from xla_inspect.report.kernels import Launched
    from xla_inspect.report.measured import Measured


def describe_kernels(
    capture: Capture, locate: Callable[[Line], object], times: Measured | None = None
) -> dict[str, Any]:
    """Return the launches of one capture; `static/kernels.js` reads it.

    Args:
        capture: The capture.
        locate: Returns what stands for a line of Python: its number in the explorer's table.
        times: What was measured of the program on the target, by default what this project has recorded, if anything.

    Returns:
        A mapping that JSON can hold:

        - `launches`: in order, each with `name`, `kind`, `fusion`, `within` (loops and branches around it), `runs` (not
          where nobody knows), `read`, `written` and `chip` (bytes of one run, of main memory and on the chip), `flops`,
          `transcendentals`, `unknown` (library calls that say nothing of their work), `grid`, `threads`, `shared`
          (bytes of shared memory, on a GPU), `places` (lines of Python, its own first), `seconds` (the
          least time of one run), `limit` (what needs that long) and `measured` (seconds, where recorded). What is
          empty or null is left out.
        - `hardware`: `bandwidth`, `source`, `devices`, `gap` (what is not published) and `roofs` (`[name, operations a
          second]`, those that a launch uses), or null where there are no figures, and then `reason`.
        - `statement`: what the model leaves out.
        - `measured`: `date`, `device`, `versions`, `others` (what was launched under a name not here) and `changed`
          (sort of kernel to how much more often it was launched), or null.
    """
    found = list_kernels(capture)
    times = times or measured.find(capture)
    hardware = find_hardware(capture.target)
    roofs = {roof.name: roof.rate for each in found if each.bound for roof in each.bound.roofs}
    return {
        "statement": STATEMENT,
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
        "measured": times.describe({each.launch.name for each in found}) if times else None,
        "launches": [_describe(each, locate, times.seconds if times else {}) for each in found],
    }


def _describe(each: Launched, locate: Callable[[Line], object], seconds: Mapping[str, float]) -> dict[str, Any]:
    launch, kernel = each.launch, each.launch.kernel
    described = {
        "name": launch.name,
        "kind": kernel.kind if kernel else launch.instruction.opcode if launch.instruction else "",
        "fusion": launch.instruction.fusion_kind if launch.instruction else None,
        "within": list(launch.within),
        "runs": launch.runs,
        "read": each.read,
        "written": each.written,
        "chip": each.on_chip,
        "flops": each.work.flops,
        "transcendentals": each.work.transcendentals,
        "unknown": list(each.work.unknown),
        "grid": kernel.grid if kernel else None,
        "threads": kernel.threads if kernel else None,
        "shared": kernel.shared_memory if kernel else None,
        "places": [locate(line) for line in each.lines],
        "seconds": each.bound.seconds if each.bound else None,
        "limit": each.bound.limit if each.bound else "",
        "measured": seconds.get(launch.name),
    }
    # What is empty is left out: most launches have no loop around them and call no library.
    return {name: value for name, value in described.items() if value not in (None, [], "")}
