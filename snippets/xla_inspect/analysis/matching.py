"""The matching of the instructions of two modules, independent of their names."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from xla_inspect.hlo import INCIDENTAL, split_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module

# These attributes do not affect whether two instructions are the same.
_APART = INCIDENTAL | {"control-predecessors"}


@dataclass
class Matching:
    """The matching computations and instructions of two modules.

    Attributes:
        computations: The name of each matched computation in the first module, to its name in the second.
        instructions: Each matched instruction of the first module, to the same instruction in the second.
        names: The computation and name of an instruction in the first module, to its name in the second; see
            `find_name`.
        same: The names of computations of the first module that are unchanged, including all names in them.
    """

    computations: dict[str, str] = field(default_factory=dict)
    instructions: dict[Instruction, Instruction] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)

    def find_name(self, computation: str, name: str) -> str | None:
        """Return the name in the second module of an instruction of the first, or None if it was removed."""
        return name if computation in self.same else self.names.get((computation, name))


class Meanings:
    """Numbers for the instructions of several modules, equal for instructions that compute the same.

    To compare a sequence of modules, pass the same object to each comparison; then each module is numbered only once.
    """

    def __init__(self) -> None:
        """Start without any modules."""
        self._numbers: dict[Hashable, int] = {}
        self._known: WeakKeyDictionary[Module, dict[str, dict[Instruction, int]]] = WeakKeyDictionary()
        self._made: WeakKeyDictionary[Computation, dict[Hashable, dict[Instruction, int]]] = WeakKeyDictionary()

    def find(self, module: Module, computation: Computation) -> dict[Instruction, int]:
        """Return a number for each instruction of a computation, equal for instructions that compute the same.

        The result is the same object for the same computation as long as its callees compute the same.
        """
        by_computation = self._known.setdefault(module, {})
        waiting = [computation]
        while waiting:
            current = waiting[-1]
            if current.name in by_computation:
                waiting.pop()
                continue
            callees = list(map(module.computation, current.called))
            missing = [callee for callee in callees if callee.name not in by_computation]
            # A callee that is already waiting would be a cycle of calls, so it is not added again.
            if missing and not any(callee in waiting for callee in missing):
                waiting.extend(missing)
                continue
            callee_numbers = tuple(by_computation.get(callee.name, {}).get(callee.root, -1) for callee in callees)
            by_callees = self._made.setdefault(current, {})
            if callee_numbers not in by_callees:
                by_callees[callee_numbers] = self._number(current, callee_numbers)
            by_computation[current.name] = by_callees[callee_numbers]
            waiting.pop()
        return by_computation[computation.name]

    def _number(self, computation: Computation, callee_numbers: Iterable[int]) -> dict[Instruction, int]:
        numbers: dict[Instruction, int] = {}
        by_name, callees = computation.by_name, iter(callee_numbers)
        for instruction in computation:
            calls = tuple(islice(callees, len(instruction.called)))
            operands = tuple(numbers.get(by_name[name], -1) for name in instruction.operands)
            key = (essence(instruction), calls, operands)
            numbers[instruction] = self._numbers.setdefault(key, len(self._numbers))
        return numbers


def essence(instruction: Instruction) -> tuple[Hashable, ...]:
    """Return a key of an instruction's own parts: opcode, shape, literal and attributes that affect its result."""
    attributes = _list_essential(instruction.attribute_text, tuple(instruction.calls))
    return instruction.opcode, instruction.wrapped, instruction.shape.text, instruction.literal, attributes


@lru_cache(maxsize=2**13)  # Most instructions are unchanged by a pass.
def _list_essential(text: str, calling: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in split_attributes(text).items() if key not in {*_APART, *calling})


def match_instructions(before: Module, after: Module, meanings: Meanings | None = None) -> Matching:
    """Return the matching computations and instructions of two modules, regardless of renumbered names.

    Computations are matched from the entry down: by matching callers, then by name, then by structure. Instructions of
    matched computations are matched if they compute the same from the same operands, then by name, then by operands,
    then by opcode and shape in order. Instructions without a match were added or removed.

    Args:
        before: The first module.
        after: The second module.
        meanings: The numbers from earlier comparisons, or None.
    """
    return _Matcher(before, after, meanings or Meanings()).match()


class _Matcher:
    def __init__(self, before: Module, after: Module, meanings: Meanings) -> None:
        self._before, self._after, self._meanings = before, after, meanings
        self._matching = Matching()
        self._taken: set[str] = set()

    def match(self) -> Matching:
        self._pair(self._before.entry, self._after.entry)
        for computation in self._before.computations:
            if computation.name in self._after.by_name:
                self._pair(computation, self._after.computation(computation.name))
        by_meaning: dict[int, deque[Computation]] = defaultdict(deque)
        for computation in self._after.computations:
            if computation.name not in self._taken:
                by_meaning[self._meanings.find(self._after, computation)[computation.root]].append(computation)
        for computation in self._before.computations:
            candidates = by_meaning[self._meanings.find(self._before, computation)[computation.root]]
            if computation.name not in self._matching.computations and candidates:
                self._pair(computation, candidates.popleft())
        return self._matching

    def _pair(self, before: Computation, after: Computation) -> None:
        """Record the match of two computations, their instructions, and their callees in the matching."""
        waiting = deque([(before, after)])
        while waiting:
            before, after = waiting.popleft()
            if before.name in self._matching.computations or after.name in self._taken:
                continue
            self._matching.computations[before.name] = after.name
            self._taken.add(after.name)
            for one, other in self._pair_instructions(before, after):
                if len(one.called) == len(other.called):
                    waiting.extend(zip(self._before.called(one), self._after.called(other), strict=True))

    def _pair_instructions(self, before: Computation, after: Computation) -> list[tuple[Instruction, Instruction]]:
        """Record the matching instructions of two computations, and return the pairs that call computations."""
        first, second = self._meanings.find(self._before, before), self._meanings.find(self._after, after)
        # Both computations have the same numbers only if neither they nor their callees changed.
        if first is second:
            self._matching.same.add(before.name)
            self._matching.instructions.update(zip(before, before, strict=True))
            return [(instruction, instruction) for instruction in before if instruction.calls]
        pairs: dict[Instruction, Instruction] = {}
        old, new = list(before), list(after)
        backwards: dict[str, str] = {}
        # Most instructions are unchanged, so the fast path looks for the same meaning under the same name.
        names = before.by_name
        for instruction in after:
            one = names.get(instruction.name)
            if one is not None and first[one] == second[instruction]:
                pairs[one] = instruction
                backwards[instruction.name] = one.name
        old, new = _leave(pairs, old, new)

        def take(key_before: Callable[[Instruction], Hashable], key_after: Callable[[Instruction], Hashable]) -> None:
            nonlocal old, new
            if not (old and new):
                return
            # Instructions that look alike are matched in the order of the text.
            candidates: dict[Hashable, deque[Instruction]] = defaultdict(deque)
            for instruction in old:
                candidates[key_before(instruction)].append(instruction)
            for instruction in new:
                if alike := candidates.get(key_after(instruction)):
                    one = alike.popleft()
                    pairs[one] = instruction
                    backwards[instruction.name] = one.name
            old, new = _leave(pairs, old, new)

        # The order goes from strict to loose criteria, so that each instruction gets its best match.
        take(first.__getitem__, second.__getitem__)
        take(lambda i: (i.name, i.opcode), lambda i: (i.name, i.opcode))
        # Operands identify an instruction in this step, so one without operands gets a key that matches nothing.
        take(
            lambda i: (i.opcode, i.shape.plain, i.operands) if i.operands else None,
            lambda i: (i.opcode, i.shape.plain, tuple(backwards.get(name, name) for name in i.operands)),
        )
        take(lambda i: (i.opcode, i.shape.text), lambda i: (i.opcode, i.shape.text))
        self._matching.instructions.update(pairs)
        self._matching.names.update({(before.name, one.name): other.name for one, other in pairs.items()})
        return [(one, other) for one, other in pairs.items() if one.calls]


def _leave(
    pairs: Mapping[Instruction, Instruction], old: list[Instruction], new: list[Instruction]
) -> tuple[list[Instruction], list[Instruction]]:
    """Return the old and the new instructions that no pair contains."""
    matches = set(pairs.values())
    return [instruction for instruction in old if instruction not in pairs], [
        instruction for instruction in new if instruction not in matches
    ]
