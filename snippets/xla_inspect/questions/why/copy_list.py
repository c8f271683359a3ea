"""Copies and transposes that take a launch of their own, with their bytes and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import KernelParts, ValueFlow, find_lines, is_fusion, read_line, show_place
from xla_inspect.questions.why.why_copied import MOVING, find_made, find_taken, is_move

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    return tuple(_Copies(capture).list())


class _Copies:
    def __init__(self, capture: Capture) -> None:
        self.capture, self.module = capture, capture.module
        self.kernels, self.flow = KernelParts(capture.module), ValueFlow(capture.module)
        self.lines = find_lines(capture, capture.module)

    def list(self) -> Iterator[Copy]:
        for launch in self.kernels.launches:
            if launch.role != "collective" and is_move(self.kernels, launch):
                moved = self._find_moved(launch)
                made, taken = find_made(launch.instruction), find_taken(self.module, moved, launch.scheduled)
                if _space(made) == _space(taken.shape):
                    yield self._describe(launch, moved, made, taken)

    def _find_moved(self, launch: Launch) -> Instruction:
        parts = [part for part in self.kernels.parts(launch) if part.opcode in MOVING and not is_fusion(part)]
        return parts[0] if parts else launch.instruction

    def _describe(self, launch: Launch, moved: Instruction, made: Shape, taken: Instruction) -> Copy:
        line = self.lines.get(moved) or self.lines.get(launch.scheduled)
        origin = self.flow.find_origin(taken, whole=True)
        is_argument = origin.opcode == "parameter" and origin.computation == self.module.entry.name
        before = taken.shape.layout
        is_same = moved.opcode != "transpose" and bool(before and made.layout) and before == made.layout
        return Copy(
            name=launch.scheduled.name,
            bytes=made.bytes,
            runs=launch.runs,
            where=show_place(line) if line else "",
            text=read_line(self.capture, line) if line else "",
            argument=(origin.op_name or origin.name) if is_argument else "",
            is_same=is_same,
            is_result=launch.scheduled.computation == self.module.entry.name and self.kernels.is_returned(launch),
        )


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout else 0
