"""Copies and transposes that take a launch of their own, with their bytes and lines."""

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
        name: The instruction that is launched.
        bytes: What it moves in one run.
        runs: How often it runs in a step, or None where nobody knows.
        where: Its line, as in `model.py:12`, or an empty string.
        text: What stands there.
        argument: What JAX calls the argument that it copies, or an empty string where it copies none.
        is_same: Whether what it makes lies as what it is made from, so that it only protects one of the two.
        is_result: Whether it makes a result of the program.
    """

    name: str
    bytes: int
    runs: int | None
    where: str
    text: str
    argument: str
    is_same: bool
    is_result: bool


def list_copies(capture: Capture) -> tuple[Copy, ...]:
    """Return what a program copies or transposes from main memory to main memory, in the order of the schedule.

    What brings a value to another memory, as a TPU's compiler does ahead of its use, is none of these.
    """
    evidence, flow = Evidence(capture), ValueFlow(capture.module)
    copies = []
    for launch in evidence.kernels.launches:
        if launch.role != "collective" and is_move(evidence.kernels, launch):
            parts = (part for part in evidence.kernels.parts(launch) if part.opcode in MOVING and not is_fusion(part))
            moved = next(parts, launch.instruction)
            taken = find_taken(evidence.module, moved, launch.scheduled)
            if _space(find_made(launch.instruction)) == _space(taken.shape):
                copies.append(_describe(evidence, launch, moved, flow.find_origin(taken, whole=True), taken.shape))
    return tuple(copies)


def _describe(evidence: Evidence, launch: Launch, moved: Instruction, origin: Instruction, before: Shape) -> Copy:
    """Return a copy of a value that comes from an origin and has a shape before."""
    made, entry = find_made(launch.instruction), evidence.module.entry.name
    line = evidence.lines.get(moved) or evidence.lines.get(launch.scheduled)
    is_argument = origin.opcode == "parameter" and origin.computation == entry
    return Copy(
        name=launch.scheduled.name,
        bytes=made.bytes,
        runs=launch.runs,
        where=show_place(line) if line else "",
        text=read_line(evidence.capture, line) if line else "",
        argument=(origin.op_name or origin.name) if is_argument else "",
        is_same=moved.opcode != "transpose" and made.layout is not None and before.layout == made.layout,
        is_result=launch.scheduled.computation == entry and evidence.kernels.is_returned(launch),
    )


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout else 0
