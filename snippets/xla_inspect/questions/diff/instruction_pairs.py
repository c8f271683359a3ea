"""The instructions that differ between two modules of one stage, paired with their counterparts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import find_frame, print_instruction
from xla_inspect.questions.diff.difference import InstructionPair

if TYPE_CHECKING:
    from xla_inspect.analysis import ModuleChange
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

UNSEEN = frozenset({"metadata", "name"})
"""The aspects of an instruction that do not count as a difference."""

_FOLLOWING = UNSEEN | {"operands", "called computations"}
_HIDDEN = frozenset({"metadata", "frontend_attributes", "backend_config"})


def is_different(change: ModuleChange) -> bool:
    """Return whether two modules differ in more than names and metadata, such as by an added instruction or order."""
    has_other_instructions = change.added or change.removed or change.is_reordered
    return bool(has_other_instructions) or any(
        not UNSEEN.issuperset(difference.aspects) for difference in change.changed
    )


def pair_instructions(change: ModuleChange, first: Capture, second: Capture) -> tuple[InstructionPair, ...]:
    """Return the instructions that differ between two modules, each with its counterpart, if any, and its line.

    An instruction that only has a different operand, because that one was added or removed, is omitted if there are
    other differences.
    """
    additions = [*change.added]
    pairs: list[tuple[Instruction | None, Instruction | None]] = []
    for old in change.removed:
        # An added instruction of the same shape most likely replaces the removed one.
        alike = (new for new in additions if (new.computation, new.shape.plain) == (old.computation, old.shape.plain))
        new = next(alike, None) or next((new for new in additions if new.shape.plain == old.shape.plain), None)
        # Each added instruction replaces at most one removed instruction.
        if new is not None:
            additions.remove(new)
        pairs.append((old, new))
    pairs += [(None, new) for new in additions]
    differing = [difference for difference in change.changed if not UNSEEN.issuperset(difference.aspects)]
    # An instruction that differs only in its operands follows from another difference.
    own = [difference for difference in differing if not _FOLLOWING.issuperset(difference.aspects)]
    pairs += [(difference.before, difference.after) for difference in (own if pairs or own else differing)]
    return tuple(
        InstructionPair(_print(old), _print(new), _locate(second, new) or _locate(first, old)) for old, new in pairs
    )


def _print(instruction: Instruction | None) -> str:
    return print_instruction(instruction, _HIDDEN, layouts=False).strip() if instruction else ""


def _locate(capture: Capture, instruction: Instruction | None) -> str:
    frame = find_frame(capture, instruction) if instruction else None
    return f"{frame.file.rpartition('/')[2]}:{frame.line}" if frame else ""
