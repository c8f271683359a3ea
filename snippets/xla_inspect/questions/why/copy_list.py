"""The list of a capture's copies and transposes that are launches of their own, with their bytes and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import ValueFlow, is_fusion, read_line, show_place
from xla_inspect.questions.why.why_context import Evidence
from xla_inspect.questions.why.why_copied import MOVING, find_made, find_taken, is_move

if TYPE_CHECKING:
    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Shape


@dataclass(frozen=True)
class Copy:
    """One copy or transpose.

    Attributes:
        name: The launched instruction.
        bytes: The bytes of its result.
        runs: The number of runs in a step, or None if unknown.
        assumed_runs: The number of runs for totals, where each loop or branch with an unknown number runs once.
        where: Its line, as in `model.py:12`, or an empty string.
        text: The source text of the line.
        argument: JAX's name of the argument that it copies, or an empty string if it copies no argument.
        is_same: Whether source and copy have the same layout, so that the copy only protects one of them.
        is_result: Whether the copy is a result of the program.
    """

    name: str
    bytes: int
    runs: int | None
    assumed_runs: int
    where: str
    text: str
    argument: str
    is_same: bool
    is_result: bool


def list_copies(capture: Capture) -> tuple[Copy, ...]:
    """Return the copies and transposes of a program within main memory, in the order of the schedule.

    Copies to another memory, such as the prefetches of a TPU's compiler, are not included.
    """
    evidence, flow = Evidence(capture), ValueFlow(capture.module)
    copies = []
    for launch in evidence.kernels.launches:
        if launch.role != "collective" and is_move(evidence.kernels, launch):
            parts = (part for part in evidence.kernels.parts(launch) if part.opcode in MOVING and not is_fusion(part))
            moved = next(parts, launch.instruction)
            source = find_taken(evidence.module, moved, launch.scheduled)
            # A copy between two memories is a prefetch or an eviction, not a copy that the program could avoid.
            if _space(find_made(launch.instruction)) == _space(source.shape):
                copies.append(_describe(evidence, launch, moved, flow.find_origin(source, whole=True), source.shape))
    return tuple(copies)


def _describe(evidence: Evidence, launch: Launch, moved: Instruction, origin: Instruction, before: Shape) -> Copy:
    """Return the `Copy` of a launch that runs the copy `moved` of a value with this origin and this shape `before`."""
    shape, entry = find_made(launch.instruction), evidence.module.entry.name
    # A copy inside of a fusion may have no line, and then the line of the launch is the nearest.
    line = evidence.lines.get(moved) or evidence.lines.get(launch.scheduled)
    is_argument = origin.opcode == "parameter" and origin.computation == entry
    return Copy(
        name=launch.scheduled.name,
        bytes=shape.bytes,
        runs=launch.runs,
        assumed_runs=launch.assumed_runs,
        where=show_place(line) if line else "",
        text=read_line(evidence.capture, line) if line else "",
        argument=(origin.op_name or origin.name) if is_argument else "",
        is_same=moved.opcode != "transpose" and shape.layout is not None and before.layout == shape.layout,
        is_result=launch.scheduled.computation == entry and evidence.kernels.is_returned(launch),
    )


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout else 0
