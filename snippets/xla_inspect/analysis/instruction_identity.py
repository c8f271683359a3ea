"""The identity of instructions across passes: the module after each pass, with a lasting number per instruction."""

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
    """The module after one pass of a compilation, or as imported.

    Attributes:
        pipeline: The pipeline of the pass, or an empty string for the imported module.
        name: The name of the pass, an empty string for the imported module, or `LAST`.
        module: The module after the pass.
        change: The changes by the pass, or None for the imported module.
        numbers: A number for each instruction, which is the same in each state even if the name changes.
    """

    pipeline: str
    name: str
    module: Module
    change: ModuleChange | None
    numbers: Mapping[Instruction, int]


def follow_passes(capture: Capture, *, to_end: bool = False) -> Iterator[PassState]:
    """Yield the imported module, the module after each pass that changed it, and the optimized module if it differs.

    `match_instructions` identifies instructions from one state to the next. An instruction that moved into another
    computation, such as a fusion, is identified by its opcode, its shape and its origin in Python. Any other
    instruction that the previous state does not contain gets a new number.

    Args:
        capture: A capture that includes its passes.
        to_end: Whether to yield the optimized module even if its text shows no change.
    """
    fresh, meanings = count(), Meanings()
    module = capture.unoptimized_module
    numbers = {instruction: next(fresh) for instruction in module.walk()}
    yield PassState("", "", module, None, numbers)
    steps = [(step.pipeline, step.name, step.module) for step in capture.passes]
    for pipeline, name, after in [*steps, ("", LAST, capture.module)]:
        change = compare_modules(module, after, meanings)
        # The optimized module usually equals the last dumped one, and then it is not a state of its own.
        if name == LAST and not (to_end or change.is_visible):
            return
        survivors = {new: numbers[old] for old, new in {**change.kept, **_find_moved(change)}.items()}
        module = after
        # `survivors.get` would take a fresh number for each survivor too.
        numbers = {
            instruction: survivors[instruction] if instruction in survivors else next(fresh)
            for instruction in module.walk()
        }
        yield PassState(pipeline, name, module, change, numbers)


def _find_moved(change: ModuleChange) -> dict[Instruction, Instruction]:
    """Return the removed instructions that reappear among the added ones, each with its new form."""
    # Instructions that look alike are matched in the order of the text.
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
    # Parameters and constants belong to their computation, and instructions without an origin look alike, so the
    # computation is part of their identity.
    own = instruction.computation if instruction.opcode in {"parameter", "constant"} or origin == (None, None) else ""
    return instruction.opcode, instruction.shape.plain, origin, own
