"""What each instruction of a program went through: which passes made, changed, fused and removed it, and its names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.changes import compare_modules
from xla_inspect.analysis.fusions import fused_computations, is_fusion
from xla_inspect.analysis.tracking import LAST, PassState, follow_passes

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

type Deed = Literal["imported", "made", "changed", "fused", "removed"]
"""What a pass did to an instruction, `imported` being what no pass did: the program came with it."""

_QUIET = frozenset({"name", "metadata", "backend config", "frontend attributes", "control dependencies"})
"""Aspects in which an instruction may differ without that it computes otherwise."""
_MOVED = "operands"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Step:
    """What one pass did to an instruction.

    Attributes:
        state: The position of the module after it among the states.
        pipeline: The pipeline of the pass.
        name: The pass; an empty string at import.
        deed: What it did.
        words: The same in words.
        instruction: The instruction after the pass, or before it where that removed it.
        instead: What the pass put in its place, or, of one that it made, what it removed for it: of the same operation
            of the program.
    """

    state: int
    pipeline: str
    name: str
    deed: Deed
    words: str
    instruction: Instruction
    instead: tuple[Instruction, ...] = ()


class Histories:
    """The history of every instruction of one capture.

    Args:
        capture: The capture, with its passes.
    """

    def __init__(self, capture: Capture) -> None:
        """Follow every instruction through all passes, which for a large program takes seconds."""
        self.capture = capture
        self.states: list[PassState] = list(follow_passes(capture))
        if self.states[-1].name != LAST:
            # What passes left is the same program, but its names may have been given anew.
            last = self.states[-1]
            change = compare_modules(last.module, capture.module)
            numbers = {new: last.numbers[old] for old, new in change.kept.items()}
            fresh = 1 + max(last.numbers.values(), default=0)
            for instruction in capture.module.walk():
                if instruction not in numbers:
                    numbers[instruction] = fresh
                    fresh += 1
            self.states.append(PassState("", LAST, capture.module, change, numbers))

    @cached_property
    def _lives(self) -> Mapping[int, list[tuple[int, Instruction]]]:
        """By number, the states that have the instruction, each with what it is there."""
        lives: dict[int, list[tuple[int, Instruction]]] = defaultdict(list)
        for place, state in enumerate(self.states):
            for instruction, number in state.numbers.items():
                lives[number].append((place, instruction))
        return lives

    def find(self, name: str) -> Instruction | None:
        """Return the instruction of a name in the latest state that has one, outside of fusions where there is one."""
        for state in reversed(self.states):
            inside = fused_computations(state.module)
            found = [each for each in state.module.walk() if each.name == name]
            if found:
                return min(found, key=lambda each: each.computation in inside)
        return None

    def locate(self, instruction: Instruction) -> tuple[int, int]:
        """Return the number of an instruction of some state, and the position of the last state that has it."""
        for place in range(len(self.states) - 1, -1, -1):
            number = self.states[place].numbers.get(instruction)
            if number is not None:
                return number, place
        message = f"no state holds {instruction!r}"
        raise LookupError(message)

    def finally_is(self, number: int) -> Instruction | None:
        """Return what an instruction is in the optimized module, or None where it was removed."""
        place, instruction = self._lives[number][-1]
        return instruction if place == len(self.states) - 1 else None

    def names_at(self, state: int, instructions: Iterable[Instruction]) -> set[str]:
        """Return the names that instructions of the optimized module have in a state, those of what was cloned too.

        One that the state has not by its number is looked for by its opcode and where in Python it comes from: a
        pass that fuses something into two kernels makes it twice.

        Args:
            state: The position of the state.
            instructions: Instructions of the optimized module.
        """
        numbers, alike = self._index(state)
        last = self.states[-1].numbers
        names: set[str] = set()
        for instruction in instructions:
            known = numbers.get(last[instruction])
            if known is not None:
                names.add(known.name)
            elif (key := origin_key(instruction)) is not None:
                names.update(each.name for each in alike.get(key, ()))
        return names

    def _index(self, state: int) -> tuple[Mapping[int, Instruction], Mapping[Hashable, list[Instruction]]]:
        found = self._indices.get(state)
        if found is None:
            alike: dict[Hashable, list[Instruction]] = defaultdict(list)
            numbers: dict[int, Instruction] = {}
            for instruction, number in self.states[state].numbers.items():
                numbers[number] = instruction
                if (key := origin_key(instruction)) is not None:
                    alike[key].append(instruction)
            found = self._indices[state] = numbers, alike
        return found

    @cached_property
    def _indices(self) -> dict[int, tuple[Mapping[int, Instruction], Mapping[Hashable, list[Instruction]]]]:
        return {}

    def tell(self, instruction: Instruction) -> tuple[Step, ...]:
        """Return what passes did to an instruction of some state, in order, with who made and who removed it."""
        number, _ = self.locate(instruction)
        return tuple(self._tell(self._lives[number]))

    def _tell(self, life: list[tuple[int, Instruction]]) -> Iterator[Step]:
        first, born = life[0]
        state = self.states[first]
        if not first:
            yield Step(0, "", "", "imported", f"{born.opcode} {born.name} as the compiler got it", born)
        else:
            before = self._find_counterparts(first, born, made=True)
            words = f"made {born.opcode} {born.name}" + (f" in the place of {_name(before)}" if before else "")
            yield Step(first, state.pipeline, state.name, "made", words, born, before)
        for (_, old), (place, new) in zip(life, life[1:], strict=False):
            if old is not new:
                yield from self._tell_change(place, old, new)
        place, last = life[-1]
        if place + 1 < len(self.states):
            after = self.states[place + 1]
            instead = self._find_counterparts(place + 1, last, made=False)
            words = f"removed {last.opcode} {last.name}" + (f", {_name(instead)} in its place" if instead else "")
            yield Step(place + 1, after.pipeline, after.name, "removed", words, last, instead)

    def _tell_change(self, place: int, old: Instruction, new: Instruction) -> Iterator[Step]:
        state = self.states[place]
        inside, before = fused_computations(state.module), fused_computations(self.states[place - 1].module)
        if new.computation in inside and old.computation not in before:
            holder = next(
                (each for each in state.module.walk() if is_fusion(each) and new.computation in each.called), None
            )
            words = f"moved into the fusion {holder.name}" if holder else "moved into a fusion"
            yield Step(place, state.pipeline, state.name, "fused", words, new)
            return
        aspects = self._aspects[place].get(new, ())
        weighty = [aspect for aspect in aspects if aspect not in _QUIET]
        if len(weighty) > 1 and _MOVED in weighty:
            weighty.remove(_MOVED)
        if weighty:
            words = f"changed its {' and '.join(weighty)}: {_show_change(old, new, weighty)}"
            yield Step(place, state.pipeline, state.name, "changed", words.rstrip(": "), new)

    @cached_property
    def _aspects(self) -> list[Mapping[Instruction, tuple[str, ...]]]:
        return [
            {change.after: change.aspects for change in state.change.changed} if state.change else {}
            for state in self.states
        ]

    def _find_counterparts(self, place: int, instruction: Instruction, *, made: bool) -> tuple[Instruction, ...]:
        """Return what a pass removed for what it made, or made for what it removed: of the same operation."""
        change = self.states[place].change
        origin = instruction.op_name, instruction.stack_frame
        if change is None:
            return ()
        others = change.removed if made else change.added
        if origin == (None, None):
            # Without an origin, what had the same name, or the one that there is.
            same = [each for each in others if each.name.split(".")[0] == instruction.name.split(".")[0]]
            return tuple(same[:_SHOWN])
        found = [each for each in others if (each.op_name, each.stack_frame) == origin]
        return tuple(each for each in found if each.opcode not in {"parameter", "constant"})[:_SHOWN]


def origin_key(instruction: Instruction) -> Hashable | None:
    """Return what an instruction is known by wherever it is: opcode and origin, or None where it has no origin."""
    if instruction.op_name is None or instruction.opcode in {"parameter", "constant"}:
        return None
    return instruction.opcode, instruction.op_name, instruction.stack_frame


def _name(instructions: Iterable[Instruction]) -> str:
    names = [f"{each.opcode} {each.name}" for each in instructions]
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)


def _show_change(old: Instruction, new: Instruction, aspects: Iterable[str]) -> str:
    if not {"shape", "element type", "layout", "memory space"}.intersection(aspects):
        return ""
    return f"{old.shape.text} to {new.shape.text}" if old.shape.text != new.shape.text else ""
