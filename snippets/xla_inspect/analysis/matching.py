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

# Left out of what makes two instructions the same.
_APART = INCIDENTAL | {"control-predecessors"}


@dataclass
class Matching:
    """The pairs found between two modules.

    Attributes:
        computations: Name of a computation before to its name after.
        instructions: Pairs of an instruction before and the same after, by the instruction before.
        names: Computation and name of an instruction before, to the name of the same after; see `find_name`.
        same: Names of the computations before that are the same after, down to the names in them.
    """

    computations: dict[str, str] = field(default_factory=dict)
    instructions: dict[Instruction, Instruction] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)

    def find_name(self, computation: str, name: str) -> str | None:
        """Return the name after of an instruction before, or None where it was removed."""
        return name if computation in self.same else self.names.get((computation, name))


class Meanings:
    """A number for the computation of each instruction of some modules: equal for equal computations.

    Whoever compares many modules, each with the next, hands the same of these on: each module is numbered once.
    """

    def __init__(self) -> None:
        """Begin with no module."""
        self._numbers: dict[Hashable, int] = {}
        self._known: WeakKeyDictionary[Module, dict[str, dict[Instruction, int]]] = WeakKeyDictionary()
        self._made: WeakKeyDictionary[Computation, dict[Hashable, dict[Instruction, int]]] = WeakKeyDictionary()

    def find(self, module: Module, computation: Computation) -> dict[Instruction, int]:
        """Return the numbers of a computation's instructions; iterative, since calls may nest deeply.

        It is the same object where the computation is, and what it calls computes the same.
        """
        known = self._known.setdefault(module, {})
        waiting = [computation]
        while waiting:
            current = waiting[-1]
            if current.name in known:
                waiting.pop()
                continue
            callees = list(map(module.computation, current.called))
            missing = [callee for callee in callees if callee.name not in known]
            if missing and not any(callee in waiting for callee in missing):
                waiting.extend(missing)
                continue
            called = tuple(known.get(callee.name, {}).get(callee.root, -1) for callee in callees)
            made = self._made.setdefault(current, {})
            if called not in made:
                made[called] = self._number(current, called)
            known[current.name] = made[called]
            waiting.pop()
        return known[computation.name]

    def _number(self, computation: Computation, called: Iterable[int]) -> dict[Instruction, int]:
        numbers: dict[Instruction, int] = {}
        by_name, callees = computation.by_name, iter(called)
        for instruction in computation:
            calls = tuple(islice(callees, len(instruction.called)))
            operands = tuple(numbers.get(by_name[name], -1) for name in instruction.operands)
            key = (essence(instruction), calls, operands)
            numbers[instruction] = self._numbers.setdefault(key, len(self._numbers))
        return numbers


def essence(instruction: Instruction) -> tuple[Hashable, ...]:
    """Return the parts of an instruction without operands and callees: opcode, shape, literal and attributes."""
    attributes = _list_essential(instruction.attribute_text, tuple(instruction.calls))
    return instruction.opcode, instruction.wrapped, instruction.shape.text, instruction.literal, attributes


@lru_cache(maxsize=2**13)  # most instructions are the same after a pass
def _list_essential(text: str, calling: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in split_attributes(text).items() if key not in {*_APART, *calling})


def match_instructions(before: Module, after: Module, meanings: Meanings | None = None) -> Matching:
    """Pair the computations and instructions of two modules, so that renumbered names are no difference.

    Computations pair from the entry down: called by the same instruction, of the same name, of the same structure.
    Instructions of paired computations pair when they compute the same from the same, else by name, else by
    operands, else by opcode and shape in order; what is left was added or removed.

    Args:
        before: The first module.
        after: The second.
        meanings: Those of modules that were matched before.
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
        """Pair two computations, their instructions, and the computations that they call."""
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
        """Pair the instructions of two computations, and return the pairs that call others."""
        first, second = self._meanings.find(self._before, before), self._meanings.find(self._after, after)
        if first is second:
            self._matching.same.add(before.name)
            self._matching.instructions.update(zip(before, before, strict=True))
            return [(instruction, instruction) for instruction in before if instruction.calls]
        pairs: dict[Instruction, Instruction] = {}
        left, right = list(before), list(after)
        backwards: dict[str, str] = {}
        # The same under the same name, which is most: a name occurs once.
        names = before.by_name
        for instruction in after:
            one = names.get(instruction.name)
            if one is not None and first[one] == second[instruction]:
                pairs[one] = instruction
                backwards[instruction.name] = one.name
        left, right = _leave(pairs, left, right)

        def take(key_before: Callable[[Instruction], Hashable], key_after: Callable[[Instruction], Hashable]) -> None:
            nonlocal left, right
            if not (left and right):
                return
            candidates: dict[Hashable, deque[Instruction]] = defaultdict(deque)
            for instruction in left:
                candidates[key_before(instruction)].append(instruction)
            for instruction in right:
                if alike := candidates.get(key_after(instruction)):
                    one = alike.popleft()
                    pairs[one] = instruction
                    backwards[instruction.name] = one.name
            left, right = _leave(pairs, left, right)

        take(first.__getitem__, second.__getitem__)
        take(lambda i: (i.name, i.opcode), lambda i: (i.name, i.opcode))
        take(
            lambda i: (i.opcode, i.shape.plain, i.operands) if i.operands else None,
            lambda i: (i.opcode, i.shape.plain, tuple(backwards.get(name, name) for name in i.operands)),
        )
        take(lambda i: (i.opcode, i.shape.text), lambda i: (i.opcode, i.shape.text))
        self._matching.instructions.update(pairs)
        self._matching.names.update({(before.name, one.name): other.name for one, other in pairs.items()})
        return [(one, other) for one, other in pairs.items() if one.calls]


def _leave(
    pairs: Mapping[Instruction, Instruction], left: list[Instruction], right: list[Instruction]
) -> tuple[list[Instruction], list[Instruction]]:
    """Return those instructions of either side that have no pair yet."""
    done = set(pairs.values())
    return [item for item in left if item not in pairs], [item for item in right if item not in done]
