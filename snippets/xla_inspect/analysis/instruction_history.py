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
"""The effect of a pass on an instruction; `imported` means that the program already contained it."""

_QUIET = frozenset({"name", "metadata", "backend config", "frontend attributes", "control dependencies", "operands"})
"""Aspects in which an instruction may change without computing anything different."""
_MAKERS = (
    ("copy", re.compile("copy-insertion|layout-assignment")),
    ("all-", re.compile("partition")),
    ("collective-", re.compile("partition")),
    ("reduce-scatter", re.compile("partition")),
    ("", re.compile("layout-assignment|partition")),
)
"""The passes that usually create instructions whose opcode has a prefix, if several passes ran between two dumps."""
_SHOWN = 3
_LONG = 100


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one pass on an instruction.

    Attributes:
        state: The position, among the states, of the module after the pass.
        pipeline: The pipeline of the pass.
        name: The name of the pass; an empty string at import.
        deed: The kind of change.
        words: The change in words.
        instruction: The instruction after the pass, or before it if the pass removed it.
        instead: The replacements of a removed instruction, or the instructions that a new one replaced. They come from
            the same operation of the program.
    """

    state: int
    pipeline: str
    name: str
    deed: Deed
    words: str
    instruction: Instruction
    instead: tuple[Instruction, ...] = ()


class Histories:
    """The histories of all instructions of one capture.

    Args:
        capture: A capture that includes its passes.
    """

    def __init__(self, capture: Capture) -> None:
        """Follow every instruction through all passes, which takes seconds for a large program."""
        self.capture = capture
        self.states: list[PassState] = list(follow_passes(capture, to_end=True))
        self._indices: dict[int, tuple[Mapping[int, Instruction], Mapping[Hashable, list[Instruction]]]] = {}

    @cached_property
    def places(self) -> list[int | None]:
        """For each state, the index of its pass in `capture.runs`; None at import and for a dump that no run made."""
        runs = self.capture.runs
        names: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, run in enumerate(runs):
            names[run.pipeline, run.name].append(number)
        places: list[int | None] = [None]
        least = 0
        for state in self.states[1:]:
            position = next((number for number in names[state.pipeline, state.name] if number >= least), None)
            least = least if position is None else position + 1
            places.append(position)
        return places

    def find_pass(self, place: int, opcode: str) -> tuple[str, str]:
        """Return the pipeline and the name of the pass that most likely introduced an instruction in a state.

        XLA dumps the module after most passes that change it, but not after all. An instruction that first appears in
        the dump at the start of a pipeline was created by a pass that ran since the previous dump. Both names are empty
        if the capture has no dumps of passes.

        Args:
            place: The position of the state.
            opcode: The opcode of the instruction.
        """
        state = self.states[place]
        # Without dumped passes, every difference lies between the first and the last module, so no pass can be named.
        if not self.capture.is_stepped:
            return "", ""
        before = next((position for position in reversed(self.places[:place]) if position is not None), -1)
        own = self.places[place]
        after = next((position for position in self.places[place:] if position is not None), len(self.capture.runs))
        holders = {run.pipeline for run in self.capture.runs}
        between = [run for run in self.capture.runs[before + 1 : after] if run.changed and run.name not in holders]
        maker = next(pattern for start, pattern in _MAKERS if opcode.startswith(start))
        likely = [run for run in between if maker.search(run.name)]
        # For a copy, a pass that usually inserts copies is preferred over the dumped pass.
        is_own = own is not None and not (likely and opcode.startswith(_MAKERS[0][0]))
        if is_own or not between or (own is None and state.name.endswith("copies")):
            return state.pipeline, "" if state.name == LAST else state.name
        maker_run = (likely or between)[-1]
        return maker_run.pipeline, maker_run.name

    @cached_property
    def _lives(self) -> Mapping[int, list[tuple[int, Instruction]]]:
        """For each instruction's number, the states that contain the instruction, with its form in each."""
        lives: dict[int, list[tuple[int, Instruction]]] = defaultdict(list)
        for place, state in enumerate(self.states):
            for instruction, number in state.numbers.items():
                lives[number].append((place, instruction))
        return lives

    def find(self, name: str) -> Instruction | None:
        """Return the instruction with a name from the latest state that has one, preferably outside fusions."""
        for state in reversed(self.states):
            inside = fused_computations(state.module)
            instructions = [instruction for instruction in state.module.walk() if instruction.name == name]
            if instructions:
                return min(instructions, key=lambda instruction: instruction.computation in inside)
        return None

    def locate(self, instruction: Instruction) -> tuple[int, int]:
        """Return an instruction's number and the position of the last state with it, or raise `LookupError`."""
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

        An instruction whose number is missing in the state is matched by its opcode and its origin in Python, because
        a pass that fuses one instruction into two kernels clones it.

        Args:
            state: The position of the state.
            instructions: Instructions of the optimized module.
        """
        numbers, alike = self._index(state)
        last = self.states[-1].numbers
        names: set[str] = set()
        for instruction in instructions:
            match = numbers.get(last[instruction])
            if match is not None:
                names.add(match.name)
            elif (key := _find_key(instruction)) is not None:
                names.update(clone.name for clone in alike.get(key, ()))
        return names

    def _index(self, state: int) -> tuple[Mapping[int, Instruction], Mapping[Hashable, list[Instruction]]]:
        index = self._indices.get(state)
        if index is None:
            alike: dict[Hashable, list[Instruction]] = defaultdict(list)
            numbers: dict[int, Instruction] = {}
            for instruction, number in self.states[state].numbers.items():
                numbers[number] = instruction
                if (key := _find_key(instruction)) is not None:
                    alike[key].append(instruction)
            index = self._indices[state] = numbers, alike
        return index

    def tell(self, instruction: Instruction) -> tuple[Step, ...]:
        """Return the history of an instruction of any state, in order, from its creation to its removal."""
        number, _ = self.locate(instruction)
        return tuple(self._tell(self._lives[number]))

    def _tell(self, life: list[tuple[int, Instruction]]) -> Iterator[Step]:
        first, born = life[0]
        if not first:
            yield Step(0, "", "", "imported", f"brought {born.opcode} {born.name}", born)
        else:
            before = self._find_counterparts(first, born, is_new=True)
            words = f"made {born.opcode} {born.name}" + (f" in the place of {_name(before)}" if before else "")
            yield Step(first, *self.find_pass(first, born.opcode), "made", words, born, before)
        for (_, old), (place, new) in itertools.pairwise(life):
            if old is not new:
                yield from self._tell_change(place, old, new)
        place, last = life[-1]
        if place + 1 < len(self.states):
            instead = self._find_counterparts(place + 1, last, is_new=False)
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
        """Return the step that introduced an instruction, or the earliest of the instructions that it replaced."""
        return self.tell_way(instruction)[0]

    def find_earliest(self, instruction: Instruction) -> Step:
        """Return the step that introduced the first instruction of the same opcode and origin.

        Passes combine collectives, split them and make them asynchronous; only the origin identifies the result. If
        there is no such instruction, or a combining pass made it, the first instruction of the same opcode counts.

        Args:
            instruction: An instruction of the optimized module.
        """
        stem = _stem(instruction.wrapped or instruction.opcode)
        origin = instruction.op_name, instruction.stack_frame
        alike = [
            peer for state in self.states for peer in state.module.walk() if _stem(peer.wrapped or peer.opcode) == stem
        ]
        placed = [peer for peer in alike if peer.op_name and (peer.op_name, peer.stack_frame) == origin]
        steps = (self.tell_way(peer)[0] for peer in (*placed[:1], *alike[:1]))
        # A combined collective has the origin of one of its parts, so a combining pass is not the first step.
        return next((step for step in steps if "combine" not in step.name), self.tell_way(instruction)[0])

    def find_union(self, one: Instruction, other: Instruction) -> int | None:
        """Return the position of the state since which two instructions are in one fusion; None if they end up apart.

        Args:
            one: An instruction of the optimized module.
            other: Another instruction of the optimized module.
        """
        union = None
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
            union = place
        return union

    def tell_way(self, instruction: Instruction) -> tuple[Step, ...]:
        """Return the history of an instruction, preceded by those of instructions of its opcode that it replaced.

        A transpose may have replaced a copy between two layouts, which moves the same elements.
        """
        steps = self.tell(instruction)
        visited = {instruction}
        while steps[0].deed == "made":
            alike = [replacement for replacement in steps[0].instead if _is_alike(replacement, instruction)]
            if not alike or alike[0] in visited:
                break
            visited.add(alike[0])
            # The removal of the old instruction is redundant because the creation of its replacement follows.
            steps = (*(step for step in self.tell(alike[0]) if step.deed != "removed"), *steps)
        return steps

    def _find_counterparts(self, place: int, instruction: Instruction, *, is_new: bool) -> tuple[Instruction, ...]:
        """Return at most three removed counterparts of a created instruction, or created ones of a removed one."""
        change = self.states[place].change
        origin = instruction.op_name, instruction.stack_frame
        if change is None:
            return ()
        others = change.removed if is_new else change.added
        if origin == (None, None):
            # Without an origin, only the base name identifies the counterparts.
            same = [peer for peer in others if peer.name.split(".")[0] == instruction.name.split(".")[0]]
            return tuple(same[:_SHOWN])
        counterparts = [peer for peer in others if (peer.op_name, peer.stack_frame) == origin]
        alike = [
            peer for peer in others if peer.opcode == instruction.opcode and peer.shape.size == instruction.shape.size
        ]
        if not counterparts and len(alike) == 1:
            # A combining pass gave it the origin of another instruction, so opcode and size have to identify it.
            counterparts = alike
        return tuple(peer for peer in counterparts if peer.opcode not in {"parameter", "constant"})[:_SHOWN]


def _is_alike(old: Instruction, new: Instruction) -> bool:
    return _stem(old.opcode) == _stem(new.opcode) or (old.opcode == "copy" and new.opcode == "transpose")


def _stem(opcode: str) -> str:
    return opcode.removesuffix("-start").removesuffix("-done")


def _find_key(instruction: Instruction) -> Hashable | None:
    """Return the opcode and the origin, which are the same in all states; None for a parameter or without an origin."""
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
