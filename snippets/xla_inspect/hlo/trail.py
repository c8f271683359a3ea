"""One instruction through all passes: each state of the module, with numbers that stay with an instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from xla_inspect.hlo.changes import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo.changes import ModuleChange
    from xla_inspect.hlo.frame import Frame
    from xla_inspect.hlo.module import Instruction, Module
    from xla_inspect.hlo.record import Capture


@dataclass(frozen=True)
class State:
    """The module at one point of the compile.

    Attributes:
        pipeline: The pipeline of the pass that made it, or an empty string for the module as imported.
        name: The pass, or an empty string.
        module: The module after the pass.
        change: What the pass changed, or None for the module as imported.
        numbers: A number for each instruction: the same in each state that has the instruction, whatever its name.
    """

    pipeline: str
    name: str
    module: Module
    change: ModuleChange | None
    numbers: Mapping[Instruction, int]


def follow(capture: Capture) -> Iterator[State]:
    """Yield the module as imported, and after each pass that changed it.

    Which instruction is which is what `matching.match` finds; one that it does not find again gets a new number.
    """
    fresh = count()
    module = capture.unoptimized_module
    numbers = {instruction: next(fresh) for instruction in module.walk()}
    yield State("", "", module, None, numbers)
    for step in capture.passes:
        change = compare(module, step.module)
        known = {after: numbers[before] for before, after in change.kept.items()}
        module = step.module
        numbers = {found: known[found] if found in known else next(fresh) for found in module.walk()}
        yield State(step.pipeline, step.name, module, change, numbers)


@dataclass(frozen=True)
class Line:
    """The line of Python that an instruction belongs to.

    Attributes:
        file: One of the capture's sources.
        number: The line, counted from one.
        through: How it is known: an empty string for the instruction's own metadata, else the name of the
            instruction whose line it is: one that it takes, or the first that takes it.
    """

    file: str
    number: int
    through: str


def find_lines(capture: Capture, module: Module) -> dict[Instruction, Line]:
    """Return the line of each instruction that has one.

    An instruction without metadata of its own, such as a prefetch, belongs to the line of what it takes, else to that
    of what takes it.

    Args:
        capture: The capture that the module belongs to.
        module: A stage of it.
    """
    found = {
        instruction: Line(frame.file, frame.line, "")
        for instruction in module.walk()
        if (frame := find_frame(capture, instruction))
    }
    for computation in module.computations:
        # Operands stand before their users: in order, a line is handed down; against it, up.
        for instruction in computation:
            if instruction not in found:
                _borrow(found, instruction, computation.operands(instruction))
        for instruction in reversed(computation.instructions):
            if instruction not in found:
                _borrow(found, instruction, computation.users(instruction.name))
    return found


def find_frame(capture: Capture, instruction: Instruction) -> Frame | None:
    """Return the innermost place in the capture's sources that an instruction came from."""
    frames = capture.frames.get(instruction.stack_frame or 0, ())
    return next((frame for frame in frames if frame.file in capture.sources), None)


def _borrow(found: dict[Instruction, Line], instruction: Instruction, others: tuple[Instruction, ...]) -> None:
    lender = next((other for other in others if other in found), None)
    if lender is not None:
        found[instruction] = replace(found[lender], through=found[lender].through or lender.name)
