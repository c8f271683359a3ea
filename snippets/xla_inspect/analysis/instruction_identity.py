"""The identity of instructions through all passes: numbers that do not change from state to state."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from xla_inspect.analysis.changes import compare_modules
from xla_inspect.analysis.matching import Meanings

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from xla_inspect.analysis.changes import ModuleChange
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

LAST = "after the last pass that was dumped"


@dataclass(frozen=True)
class PassState:
    """The module at one point of the compile.

    Attributes:
        pipeline: The pipeline of the pass that made it, or an empty string for the module as imported.
        name: The pass, an empty string at import, or `LAST`.
        module: The module after the pass.
        change: The changes by the pass, or None for the imported module.
        numbers: A number for each instruction: the same in each state that has the instruction, whatever its name.
    """

    pipeline: str
    name: str
    module: Module
    change: ModuleChange | None
    numbers: Mapping[Instruction, int]


def follow_passes(capture: Capture, *, to_end: bool = False) -> Iterator[PassState]:
    """Yield the module as imported, after each pass that changed it, and as optimized where passes dumped no more.

    Which instruction is which is what `match_instructions` finds. An instruction that a pass moved into another
    computation, as into a fusion, is known by its opcode, its shape and where in Python it comes from.
    Any other that the state before does not have gets a new number.

    Args:
        capture: The capture, with its passes.
        to_end: Whether the optimized module is the last state also where its text shows no change.
    """
    fresh, meanings = count(), Meanings()
    module = capture.unoptimized_module
    numbers = {instruction: next(fresh) for instruction in module.walk()}
    yield PassState("", "", module, None, numbers)
    steps = [(step.pipeline, step.name, step.module) for step in capture.passes]
    for pipeline, name, after in [*steps, ("", LAST, capture.module)]:
        change = compare_modules(module, after, meanings)
        if name == LAST and not (to_end or change.is_visible):
            return
        known = {new: numbers[old] for old, new in {**change.kept, **_find_moved(change)}.items()}
        module = after
        numbers = {
            instruction: known[instruction] if instruction in known else next(fresh) for instruction in module.walk()
        }
        yield PassState(pipeline, name, module, change, numbers)


def _find_moved(change: ModuleChange) -> dict[Instruction, Instruction]:
    """Return the removed instructions that reappear among the added ones, each with its new form."""
    waiting: dict[Hashable, deque[Instruction]] = defaultdict(deque)
    for instruction in change.removed:
        waiting[_identity(instruction)].append(instruction)
    moved = {}
    for instruction in change.added:
        if same := waiting.get(_identity(instruction)):
            moved[same.popleft()] = instruction
    return moved


def _identity(instruction: Instruction) -> Hashable:
    origin = instruction.op_name, instruction.stack_frame
    # Parameters and constants of a computation belong to it, and without an origin all of a kind look alike.
    own = instruction.computation if instruction.opcode in {"parameter", "constant"} or origin == (None, None) else ""
    return instruction.opcode, instruction.shape.plain, origin, own
