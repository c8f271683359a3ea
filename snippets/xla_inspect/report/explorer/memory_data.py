"""The memory plan for the explorer: allocations, the values in them with their live ranges, and the peak."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import find_peak, live_bytes, parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.report import explain_no_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.analysis import Allocation
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

_NO_PLAN = {"end": 0, "sequence": [], "live": [0], "peak": [0, 0], "memory": None, "inside": 0, "allocations": []}
_SPACES = {0: "", 1: " in VMEM, on the chip", 2: " in semaphore memory", 4: " in SMEM, on the chip"}
_OUTSIDE = "thread-local"


def describe_buffers(capture: Capture, locate: Callable[[Instruction], int]) -> dict[str, Any]:
    """Return the memory plan that `static/buffers.js` draws.

    Args:
        capture: The capture.
        locate: Returns the number of the place in Python of an instruction of the optimized module, or -1.

    Returns:
        `end` and `sequence` as in `LiveRanges`; `live`, the live bytes at each position up to `end`;
        `peak`, the first position with the most live bytes, and their number; `memory`, the numbers that the
        executable reports, or null without an executable; `missing`, the reason why there is no plan, or an empty
        string; `inside`, the number of values inside kernels, which are left out; `allocations`, each with its
        `kind`, `size`, its description `said`, and its `values`: `name`, `index`, `shape`, `offset`, `size`, `start`,
        `end`, `place`.
    """
    missing = explain_no_plan(capture)
    if missing:
        return {**_NO_PLAN, "missing": missing}
    assignment, ranges = parse_buffers(capture.buffers), parse_live_ranges(capture.live_ranges)
    instructions = {instruction.name: instruction for instruction in capture.module.walk()}
    # A tuple has several values under one name, so the index in the tuple is part of the key.
    shapes = {(a.number, v.instruction, v.index): v.shape.plain for a, v in assignment.values()}
    placements = [row for row in place_buffers(assignment, ranges) if row.kind != _OUTSIDE and row.start is not None]
    allocations = [allocation for allocation in assignment.allocations if allocation.kind != _OUTSIDE]
    entries: dict[int, dict[str, Any]] = {
        allocation.number: {
            "kind": allocation.kind,
            "size": allocation.size,
            "said": _describe_allocation(allocation, capture),
            "values": [],
        }
        for allocation in allocations
    }
    for row in placements:
        # The buffer assignment may list an instruction that the final text of the module no longer contains.
        maker = instructions.get(row.instruction)
        entries[row.allocation]["values"].append(
            {
                "name": row.instruction,
                "index": "".join(f"{{{number}}}" for number in row.index),
                "shape": shapes[row.allocation, row.instruction, row.index],
                "offset": row.offset,
                "size": row.size,
                "start": row.start,
                "end": ranges.end if row.end is None else row.end,
                "place": locate(maker) if maker else -1,
            }
        )
    return {
        "end": ranges.end,
        "sequence": list(ranges.sequence),
        "live": live_bytes(placements, ranges.end),
        "peak": list(find_peak(placements)),
        "memory": None if capture.is_dumped else asdict(capture.memory),
        "missing": "",
        "inside": sum(len(a.values) for a in assignment.allocations) - len(placements),
        "allocations": list(entries.values()),
    }


def _describe_allocation(allocation: Allocation, capture: Capture) -> str:
    description = f"allocation {allocation.number} ({allocation.kind}{_SPACES.get(allocation.color, '')}"
    if allocation.parameter is not None:
        parameter = capture.module.entry.parameters[allocation.parameter]
        description += f" {allocation.parameter}, {parameter.op_name or parameter.name}"
        # A parameter's memory stays live after the program only if a result is written into it.
        description += ", reused by the output" if allocation.is_live_out else ""
    return f"{description})"
