"""The history of each instruction of a program: the passes that made, changed, fused and removed it, and its names."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.fusions import fused_computations, is_fusion
from xla_inspect.analysis.instruction_identity import LAST, PassState, follow_passes

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

type Deed = Literal["imported", "made", "changed", "fused", "removed"]
"""What a pass did to an instruction, `imported` being what no pass did: the program came with it."""

_QUIET = frozenset({"name", "metadata", "backend config", "frontend attributes", "control dependencies", "operands"})
"""Aspects in which an instruction may differ without that it computes otherwise."""
_MAKERS = (
    ("copy", re.compile("copy-insertion|layout-assignment")),
    ("all-", re.compile("partition")),
    ("collective-", re.compile("partition")),
    ("reduce-scatter", re.compile("partition")),
    ("", re.compile("layout-assignment|partition")),
)
"""What mostly makes instructions of an opcode that begins so, where several passes ran between two modules."""
_SHOWN = 3
_LONG = 100


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one pass on an instruction.

    Attributes:
        state: The position of the module after it among the states.
        pipeline: The pipeline of the pass.
        name: The pass; an empty string at import.
        deed: The kind of change.
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
        """Follow every instruction through all passes, which takes seconds for a large program."""
        self.capture = capture
        self.states: list[PassState] = list(follow_passes(capture, to_end=True))
        self._indices: dict[int, tuple[Mapping[int, Instruction], Mapping[Hashable, list[Instruction]]]] = {}

    @cached_property
    def places(self) -> list[int | None]:
        """For each state the position of its pass among all runs, or None at import and for `pipeline-start`."""
        runs = self.capture.runs
        names: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, run in enumerate(runs):
            names[run.pipeline, run.name].append(number)
        places: list[int | None] = [None]
        least = 0
        for state in self.states[1:]:
            result = next((number for number in names[state.pipeline, state.name] if number >= least), None)
            least = least if result is None else result + 1
            places.append(result)
        return places

    def find_pass(self, place: int, opcode: str) -> tuple[str, str]:
        """Return the pipeline and the name of the pass that made a state of the one before, for one instruction.

        A module is dumped after most passes that change it, and not after all: what a dump at the start of a pipeline
        has that the one before has not was made by a pass that ran between the two.

        Args:
            place: The position of the state.
            opcode: The opcode of the instruction.
        """
        state = self.states[place]
        if not self.capture.is_stepped:
            return "", ""
        before = next((item for item in reversed(self.places[:place]) if item is not None), -1)
        own = self.places[place]
        after = next((item for item in self.places[place:] if item is not None), len(self.capture.runs))
        holders = {run.pipeline for run in self.capture.runs}
        between = [run for run in self.capture.runs[before + 1 : after] if run.changed and run.name not in holders]
        wanted = next(pattern for start, pattern in _MAKERS if opcode.startswith(start))
        likely = [run for run in between if wanted.search(run.name)]
        is_own = own is not None and not (likely and opcode.startswith(_MAKERS[0][0]))
        if is_own or not between or (own is None and state.name.endswith("copies")):
            return state.pipeline, "" if state.name == LAST else state.name
        result = (likely or between)[-1]
        return result.pipeline, result.name

    @cached_property
    def _lives(self) -> Mapping[int, list[tuple[int, Instruction]]]:
        """For each number, the states that contain the instruction, each with its form there."""
        lives: dict[int, list[tuple[int, Instruction]]] = defaultdict(list)
        for place, state in enumerate(self.states):
            for instruction, number in state.numbers.items():
                lives[number].append((place, instruction))
        return lives

    def find(self, name: str) -> Instruction | None:
        """Return the instruction of a name in the latest state that has one, outside of fusions where there is one."""
        for state in reversed(self.states):
            inside = fused_computations(state.module)
            result = [each for each in state.module.walk() if each.name == name]
            if result:
                return min(result, key=lambda each: each.computation in inside)
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
        """Return the form of an instruction in the optimized module, or None if it was removed."""
        place, instruction = self._lives[number][-1]
        return instruction if place == len(self.states) - 1 else None

    def names_at(self, state: int, instructions: Iterable[Instruction]) -> set[str]:
        """Return the names that instructions of the optimized module have in a state, including clones.

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
            elif (key := _find_key(instruction)) is not None:
                names.update(item.name for item in alike.get(key, ()))
        return names

    def _index(self, state: int) -> tuple[Mapping[int, Instruction], Mapping[Hashable, list[Instruction]]]:
        result = self._indices.get(state)
        if result is None:
            alike: dict[Hashable, list[Instruction]] = defaultdict(list)
            numbers: dict[int, Instruction] = {}
            for instruction, number in self.states[state].numbers.items():
                numbers[number] = instruction
                if (key := _find_key(instruction)) is not None:
                    alike[key].append(instruction)
            result = self._indices[state] = numbers, alike
        return result

    def tell(self, instruction: Instruction) -> tuple[Step, ...]:
        """Return the history of an instruction of a state, in order, including its maker and its remover."""
        number, _ = self.locate(instruction)
        return tuple(self._tell(self._lives[number]))

    def _tell(self, life: list[tuple[int, Instruction]]) -> Iterator[Step]:
        first, born = life[0]
        if not first:
            yield Step(0, "", "", "imported", f"brought {born.opcode} {born.name}", born)
        else:
            before = self._find_counterparts(first, born, made=True)
            words = f"made {born.opcode} {born.name}" + (f" in the place of {_name(before)}" if before else "")
            yield Step(first, *self.find_pass(first, born.opcode), "made", words, born, before)
        for (_, old), (place, new) in itertools.pairwise(life):
            if old is not new:
                yield from self._tell_change(place, old, new)
        place, last = life[-1]
        if place + 1 < len(self.states):
            instead = self._find_counterparts(place + 1, last, made=False)
            words = f"removed {last.opcode} {last.name}" + (f", {_name(instead)} in its place" if instead else "")
            yield Step(place + 1, *self.find_pass(place + 1, last.opcode), "removed", words, last, instead)

    def _tell_change(self, place: int, old: Instruction, new: Instruction) -> Iterator[Step]:
        state = self.states[place]
        inside, before = fused_computations(state.module), fused_computations(self.states[place - 1].module)
        if new.computation in inside and old.computation not in before:
            holder = next(
                (
                    instruction
                    for instruction in state.module.walk()
                    if is_fusion(instruction) and new.computation in instruction.called
                ),
                None,
            )
            words = f"moved it into the fusion {holder.name}" if holder else "moved it into a fusion"
            yield Step(place, *self.find_pass(place, "fusion"), "fused", words, new)
            return
        aspects = self._aspects[place].get(new, ())
        weighty = [aspect for aspect in aspects if aspect not in _QUIET]
        if weighty:
            words = f"changed its {' and '.join(weighty)}: {_show_change(old, new, weighty)}"
            yield Step(place, *self.find_pass(place, ""), "changed", words.rstrip(": "), new)

    @cached_property
    def _aspects(self) -> list[Mapping[Instruction, tuple[str, ...]]]:
        return [
            {change.after: change.aspects for change in state.change.changed} if state.change else {}
            for state in self.states
        ]

    def find_first(self, instruction: Instruction) -> Step:
        """Return the step that introduced an instruction, before any pass that only rewrote it in its own form."""
        return self.tell_way(instruction)[0]

    def find_earliest(self, instruction: Instruction) -> Step:
        """Return the step that brought in the first instruction of an opcode at a place in the program.

        Passes combine, split and start collectives anew, and what comes of it is known by its place alone.

        Args:
            instruction: An instruction of the optimized module.
        """
        stem = _stem(instruction.wrapped or instruction.opcode)
        origin = instruction.op_name, instruction.stack_frame
        alike = [
            item for state in self.states for item in state.module.walk() if _stem(item.wrapped or item.opcode) == stem
        ]
        placed = [item for item in alike if item.op_name and (item.op_name, item.stack_frame) == origin]
        steps = (self.tell_way(item)[0] for item in (*placed[:1], *alike[:1]))
        # What was put together of several has the place of one of them.
        return next((step for step in steps if "combine" not in step.name), self.tell_way(instruction)[0])

    def find_union(self, one: Instruction, other: Instruction) -> int | None:
        """Return the position of the state from which on two instructions are in one fusion, or None.

        Args:
            one: An instruction of the optimized module.
            other: Another.
        """
        result = None
        for place in range(len(self.states) - 1, -1, -1):
            module = self.states[place].module
            inside = fused_computations(module)
            contents = [
                {
                    instruction.computation
                    for instruction in module.walk()
                    if instruction.name in names and instruction.computation in inside
                }
                for names in (self.names_at(place, [one]), self.names_at(place, [other]))
            ]
            if not contents[0] & contents[1]:
                break
            result = place
        return result

    def tell_way(self, instruction: Instruction) -> tuple[Step, ...]:
        """Return the history of an instruction with that of those of its opcode that it was made in the place of.

        A transpose may have been a copy between two layouts: that moves the same elements.
        """
        steps = self.tell(instruction)
        visited = {instruction}
        while steps[0].deed == "made":
            alike = [item for item in steps[0].instead if _is_alike(item, instruction)]
            if not alike or alike[0] in visited:
                break
            visited.add(alike[0])
            # That it was removed then says nothing more.
            steps = (*(step for step in self.tell(alike[0]) if step.deed != "removed"), *steps)
        return steps

    def _find_counterparts(self, place: int, instruction: Instruction, *, made: bool) -> tuple[Instruction, ...]:
        """Return the removed counterparts of a created instruction, or the created counterparts of a removed one."""
        change = self.states[place].change
        origin = instruction.op_name, instruction.stack_frame
        if change is None:
            return ()
        others = change.removed if made else change.added
        if origin == (None, None):
            # Without an origin, what had the same name, or the one that there is.
            same = [item for item in others if item.name.split(".")[0] == instruction.name.split(".")[0]]
            return tuple(same[:_SHOWN])
        result = [item for item in others if (item.op_name, item.stack_frame) == origin]
        alike = [
            item for item in others if item.opcode == instruction.opcode and item.shape.size == instruction.shape.size
        ]
        if not result and len(alike) == 1:
            # It was given the origin of what it was put together with.
            result = alike
        return tuple(item for item in result if item.opcode not in {"parameter", "constant"})[:_SHOWN]


def _is_alike(old: Instruction, new: Instruction) -> bool:
    return _stem(old.opcode) == _stem(new.opcode) or (old.opcode == "copy" and new.opcode == "transpose")


def _stem(opcode: str) -> str:
    return opcode.removesuffix("-start").removesuffix("-done")


def _find_key(instruction: Instruction) -> Hashable | None:
    """Return the key of an instruction in all states: opcode and origin, or None without an origin."""
    if instruction.op_name is None or instruction.opcode in {"parameter", "constant"}:
        return None
    return instruction.opcode, instruction.op_name, instruction.stack_frame


def _name(instructions: Iterable[Instruction]) -> str:
    names = [f"{instruction.opcode} {instruction.name}" for instruction in instructions]
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)


def _show_change(old: Instruction, new: Instruction, aspects: Iterable[str]) -> str:
    if not {"shape", "element type", "layout", "memory space"}.intersection(aspects):
        return ""
    words = f"{old.shape.text} to {new.shape.text}"
    return words if old.shape.text != new.shape.text and len(words) <= _LONG else ""
