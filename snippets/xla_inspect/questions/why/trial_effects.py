"""The effect of a tried change on the subject of a question, counted in both captures by lines of Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import KernelParts, find_lines, list_collectives, name_failure
from xla_inspect.plural import plural
from xla_inspect.questions.why.explanation import WhyTrial
from xla_inspect.questions.why.why_copied import find_made, is_move

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.analysis import SourceLine
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Layout, Module
    from xla_inspect.questions.why.explanation import Finding, Kind
    from xla_inspect.questions.why.why_context import Evidence

type Spot = tuple[str, int]
"""A file, without its folders, and a line."""

_RESHAPING = frozenset({"batch", "precision", "sharding", "target"})
"""Kinds of changes after which the same value may have another shape."""
# The opcode of one operation may differ between targets, or after another pass.
_SAME = {"convolution": "dot", "custom-call": "dot"}


@dataclass(frozen=True)
class Effect:
    """The subject of a question, in a form that can be counted in any compilation of the same lines of Python.

    Attributes:
        kind: The kind of explanation.
        spots: The lines of the subject; for two kernels, the line of each, in their order.
        opcodes: The counted operations; for two kernels, the main operation of each.
        between: Whether only copies between memories count; otherwise, only copies within one memory do.
        alone: Whether only launches that just move data count.
        sort: The kind of the counted launches, as in `Launch.sort`, if the subject is a launch.
        shape: The shape of the moved value, without its layout, if the subject is a copy or a transpose.
    """

    kind: Kind
    spots: tuple[Spot | None, ...]
    opcodes: tuple[str, ...]
    between: bool = False
    alone: bool = False
    sort: str = ""
    shape: str = ""

    def count(self, capture: Capture) -> tuple[int, int]:
        """Return the number of occurrences of the subject at its lines, and in the whole program.

        Args:
            capture: A successful compilation.
        """
        lines = find_lines(capture, capture.module)
        if self.kind in {"copy", "layout", "transpose"}:
            return self._count_moves(capture.module, lines)
        if self.kind == "collective":
            return self._count_collectives(capture.module, lines)
        if self.kind in {"apart", "together"}:
            return self._count_kernels(capture.module, lines)
        if self.sort:
            return self._count_sort(capture.module, lines)
        alike = [
            instruction
            for instruction in capture.module.walk()
            if _name(instruction.opcode) in self.opcodes and _find(lines, instruction) in self.spots
        ]
        return len(alike), len(alike)

    def _count_moves(self, module: Module, lines: Mapping[Instruction, SourceLine]) -> tuple[int, int]:
        if not self.alone:
            moves = [
                instruction
                for instruction in module.walk()
                if instruction.opcode in self.opcodes
                and _changes_memory(module, instruction) is self.between
                and self.shape in {"", instruction.shape.plain}
            ]
            return sum(_find(lines, instruction) in self.spots for instruction in moves), len(moves)
        kernels = KernelParts(module)
        moving = [
            launch
            for launch in kernels.launches
            if (is_move(kernels, launch) or launch.role == "copy")
            and _only_changes_memory(module, launch.scheduled) is self.between
            and (not self.shape or self.shape in {part.shape.plain for part in kernels.parts(launch)})
        ]
        here = sum(
            any(_find(lines, instruction) in self.spots for instruction in (launch.scheduled, *kernels.parts(launch)))
            for launch in moving
        )
        return here, len(moving)

    def _count_sort(self, module: Module, lines: Mapping[Instruction, SourceLine]) -> tuple[int, int]:
        kernels = KernelParts(module)
        same = [launch for launch in kernels.launches if launch.sort == self.sort]
        here = sum(any(_find(lines, part) in self.spots for part in kernels.parts(launch)) for launch in same)
        return here, len(same)

    def _count_collectives(self, module: Module, lines: Mapping[Instruction, SourceLine]) -> tuple[int, int]:
        same = [collective for collective in list_collectives(module) if collective.kind in self.opcodes]
        # The start, the end and the collective itself may have different lines, or none.
        here = sum(
            bool(
                {
                    _find(lines, collective.instruction),
                    _find(lines, collective.scheduled),
                    _find(lines, collective.done),
                }
                & set(self.spots)
            )
            for collective in same
        )
        return here, len(same)

    def _count_kernels(self, module: Module, lines: Mapping[Instruction, SourceLine]) -> tuple[int, int]:
        """Return the number of kernels of the two operations, which is 1 if a kernel has both, and of all kernels."""
        kernels = KernelParts(module)
        keys = [(spot, _name(opcode)) for spot, opcode in zip(self.spots, self.opcodes, strict=True)]
        contents = [
            Counter((_find(lines, part), _name(part.opcode)) for part in kernels.parts(launch))
            for launch in kernels.launches
        ]
        total = sum(launch.role == "kernel" for launch in kernels.launches)
        # Two equal operations on one line cannot be distinguished, so the kernels that contain one are counted.
        if keys[0] == keys[1]:
            return sum(keys[0] in content for content in contents), total
        # A kernel that contains both operations fuses them, so there is one kernel.
        if any(all(key in content for key in keys) for content in contents):
            return 1, total
        if not all(any(key in content for content in contents) for key in keys):
            # One of them became another operation, so only its line can locate it.
            spots = [{spot for spot, _ in content} for content in contents]
            if self.spots[0] != self.spots[1]:
                return (1 if any(set(self.spots) <= kernel_spots for kernel_spots in spots) else 2), total
            # If both are on one line, the number of kernels that compute on this line decides.
            working = [
                launch
                for launch, kernel_spots in zip(kernels.launches, spots, strict=True)
                if self.spots[0] in kernel_spots and launch.role == "kernel" and not is_move(kernels, launch)
            ]
            return (1 if len(working) == 1 else 2), total
        return 2, total

    def compare(self, before: Capture, after: Capture, kind: str, change: str) -> WhyTrial:
        """Return the outcome of a change, by counting the subject before and after it."""
        if after.error:
            return WhyTrial(kind, change, "failed", "", name_failure(after))
        # These changes alter the sizes of values, so the moved value has another shape.
        counter = replace(self, shape="") if kind in _RESHAPING else self
        here, total = counter.count(before)
        there, now = counter.count(after)
        # Fewer occurrences at the lines but not in total mean that the subject only moved to another line.
        if here == there or (there < here and now >= total and self.kind not in {"apart", "together"}):
            outcome = "keeps"
        elif self.kind in {"apart", "together", "removed"}:
            outcome = "removes"
        else:
            outcome = "adds" if there > here else "reduces" if there else "removes"
        return WhyTrial(kind, change, outcome, self._say((here, total), (there, now), (before, after)))  # type: ignore[arg-type]  # one of them

    def _say(self, before: tuple[int, int], after: tuple[int, int], captures: tuple[Capture, Capture]) -> str:
        sizes = [
            sum(launch.role == "kernel" for launch in KernelParts(capture.module).launches) for capture in captures
        ]
        kernels = f"{plural(sizes[0], 'kernel')}, then {sizes[1]}"
        if self.kind in {"apart", "together"}:
            return f"{plural(before[0], 'kernel')}, then {plural(after[0], 'kernel')}; in total {kernels}"
        places = [spot for spot in self.spots if spot]
        where = f" at {places[0][0]}:{places[0][1]}" if places else ""
        what = " or ".join(opcode for opcode in self.opcodes if opcode != "copy-start") or "copy"
        what = "kernels that only move data" if self.alone else self.sort or what
        counts = f"{what}{where}: {before[0]}, then {after[0]}"
        return f"{counts}; in total {before[1]}, then {after[1]}; {kernels}"


def find_effect(  # noqa: PLR0911 - a table of kinds
    evidence: Evidence, finding: Finding, pair: Sequence[Instruction] = ()
) -> Effect | None:
    """Return the subject of a finding in countable form, or None if nothing can be counted.

    Args:
        evidence: The capture.
        finding: The first explanation.
        pair: The two instructions of the question, if it is about separate or fused kernels.
    """
    module = evidence.module
    # A removed instruction is not in the optimized module, so it is looked up in the history.
    if finding.kind == "removed":
        original = next((former for name in finding.names if (former := evidence.histories.find(name))), None)
        line = evidence.find_line(original) if original else None
        return Effect("removed", (_spot(line),), (_name(original.opcode),)) if original and line else None
    instructions = [instruction for name in finding.names for instruction in module.walk() if instruction.name == name]
    # No change removes an argument from the module, so there is nothing to count.
    if not instructions or finding.kind == "argument":
        return None
    subject = instructions[0]
    launch = evidence.kernels.holder(subject)
    if finding.kind in {"apart", "together"}:
        holders = [evidence.kernels.holder(instruction) for instruction in instructions]
        # The instructions of the question are more exact than the main instructions of their kernels.
        both = pair or [evidence.kernels.hero(holder) for holder in holders if holder]
        if len(both) < 2:  # noqa: PLR2004 - the two kernels of the question
            return None
        spots = tuple(_spot(evidence.find_line(instruction)) for instruction in both[:2])
        return Effect(finding.kind, spots, tuple(_name(instruction.opcode) for instruction in both[:2]))
    spots = (_spot(evidence.find_line(subject)),)
    if finding.kind == "collective":
        names = {finding.names[0]}
        same = (
            collective.kind
            for collective in list_collectives(module)
            if names & {collective.name, collective.scheduled.name}
        )
        return Effect("collective", spots, (kind,)) if (kind := next(same, "")) else None
    if finding.kind in {"copy", "layout", "transpose"}:
        opcodes = ("transpose",) if subject.opcode == "transpose" else ("copy", "copy-start")
        alone = launch is not None and (launch.role == "copy" or is_move(evidence.kernels, launch))
        moved = launch.scheduled if launch and alone else subject
        between = _only_changes_memory(module, moved) if alone else _changes_memory(module, moved)
        return Effect(finding.kind, spots, opcodes, between, alone, shape=subject.shape.plain)
    hero = evidence.kernels.hero(launch) if launch else subject
    sort = launch.sort if launch and subject in {launch.instruction, launch.scheduled} else ""
    return Effect(finding.kind, (_spot(evidence.find_line(hero)),), (_name(hero.opcode),), sort=sort)


def _only_changes_memory(module: Module, instruction: Instruction) -> bool:
    """Return whether a copy moves a value to another memory and leaves its layout unchanged."""
    after, before = _find_layouts(module, instruction)
    if not (after and before):
        return False
    moves = after.memory_space != before.memory_space
    return moves and (after.minor_to_major, after.tiles) == (before.minor_to_major, before.tiles)


def _changes_memory(module: Module, instruction: Instruction) -> bool:
    """Return whether a copy moves a value to another memory."""
    after, before = _find_layouts(module, instruction)
    return bool(after and before and after.memory_space != before.memory_space)


def _find_layouts(module: Module, instruction: Instruction) -> tuple[Layout | None, Layout | None]:
    """Return the layouts of a copy's result and of its operand."""
    operands = module.operands(instruction)
    return find_made(instruction).layout, operands[0].shape.layout if operands else None


def _spot(line: SourceLine | None) -> Spot | None:
    # The path may differ between two compilations, so only the file name counts.
    return (line.file.rpartition("/")[2], line.number) if line else None


def _find(lines: Mapping[Instruction, SourceLine], instruction: Instruction) -> Spot | None:
    return _spot(lines.get(instruction))


def _name(opcode: str) -> str:
    return _SAME.get(opcode, opcode)
