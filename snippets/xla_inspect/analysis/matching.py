"""Which instruction of one module is which of another, whatever they are called."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.hlo import INCIDENTAL

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from xla_inspect.hlo import Computation, Instruction, Module

# Left out of what makes two instructions the same.
_APART = INCIDENTAL | {"control-predecessors"}


@dataclass
class Matching:
    """The pairs found between two modules.

    Attributes:
        computations: Name of a computation before to its name after.
        instructions: Pairs of an instruction before and the same after, by the instruction before.
        names: Computation and name of an instruction before, to the name of the same after.
    """

    computations: dict[str, str] = field(default_factory=dict)
    instructions: dict[Instruction, Instruction] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)


def match_instructions(before: Module, after: Module) -> Matching:
    """Pair the computations and instructions of two modules, so that renumbered names are no difference.

    Computations pair from the entry down: called by the same instruction, of the same name, of the same structure.
    Instructions of paired computations pair when they compute the same from the same, else by name, else by
    operands, else by opcode and shape in order; what is left was added or removed.
    """
    return _Matcher(before, after).run()


def essence(instruction: Instruction, called: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """What an instruction does apart from its operands: opcode, shape, literal and attributes, names left out."""
    attributes = tuple(
        (key, value)
        for key, value in instruction.attributes.items()
        if key not in _APART and key not in instruction.calls
    )
    return (instruction.opcode, instruction.wrapped, instruction.shape.text, instruction.literal, attributes, *called)


class _Matcher:
    def __init__(self, before: Module, after: Module) -> None:
        self._before, self._after = before, after
        self._matching = Matching()
        self._taken: set[str] = set()
        self._meanings: dict[tuple[int, str], dict[Instruction, int]] = {}
        # Equal meanings of both modules get equal numbers, so that comparing them costs nothing.
        self._numbers: dict[Hashable, int] = {}

    def run(self) -> Matching:
        self._pair(self._before.entry, self._after.entry)
        for computation in self._before.computations:
            if computation.name in self._after.by_name:
                self._pair(computation, self._after.computation(computation.name))
        by_meaning: dict[int, deque[Computation]] = defaultdict(deque)
        for computation in self._after.computations:
            if computation.name not in self._taken:
                by_meaning[self._meaning(self._after, computation)[computation.root]].append(computation)
        for computation in self._before.computations:
            candidates = by_meaning[self._meaning(self._before, computation)[computation.root]]
            if computation.name not in self._matching.computations and candidates:
                self._pair(computation, candidates.popleft())
        return self._matching

    def _meaning(self, module: Module, computation: Computation) -> dict[Instruction, int]:
        """A number for what each instruction computes, names left out; iterative, since calls may nest deeply."""
        waiting = [computation]
        while waiting:
            current = waiting[-1]
            if (id(module), current.name) in self._meanings:
                waiting.pop()
                continue
            callees = [module.computation(name) for instruction in current for name in instruction.called]
            missing = [callee for callee in callees if (id(module), callee.name) not in self._meanings]
            if missing and not any(callee in waiting for callee in missing):
                waiting.extend(missing)
                continue
            self._meanings[id(module), current.name] = self._number(module, current)
            waiting.pop()
        return self._meanings[id(module), computation.name]

    def _number(self, module: Module, computation: Computation) -> dict[Instruction, int]:
        numbers: dict[Instruction, int] = {}
        by_name = computation.by_name
        for instruction in computation:
            called = []
            for name in instruction.called:
                meanings = self._meanings.get((id(module), name), {})
                called.append(meanings.get(module.computation(name).root, -1))
            operands = tuple(numbers.get(by_name[name], -1) for name in instruction.operands)
            key = (essence(instruction, called), operands, instruction.operand_indices)
            numbers[instruction] = self._numbers.setdefault(key, len(self._numbers))
        return numbers

    def _pair(self, before: Computation, after: Computation) -> None:
        """Pair two computations, their instructions, and what those call."""
        waiting = deque([(before, after)])
        while waiting:
            before, after = waiting.popleft()
            if before.name in self._matching.computations or after.name in self._taken:
                continue
            self._matching.computations[before.name] = after.name
            self._taken.add(after.name)
            for one, other in self._pair_instructions(before, after):
                if one.calls and len(one.called) == len(other.called):
                    waiting.extend(zip(self._before.called(one), self._after.called(other), strict=True))

    def _pair_instructions(self, before: Computation, after: Computation) -> list[tuple[Instruction, Instruction]]:
        first, second = self._meaning(self._before, before), self._meaning(self._after, after)
        pairs: dict[Instruction, Instruction] = {}
        left, right = list(before), list(after)
        backwards: dict[str, str] = {}

        def take(key_before: Callable[[Instruction], Hashable], key_after: Callable[[Instruction], Hashable]) -> None:
            nonlocal left, right
            candidates: dict[Hashable, deque[Instruction]] = defaultdict(deque)
            for instruction in left:
                candidates[key_before(instruction)].append(instruction)
            for instruction in right:
                if alike := candidates.get(key_after(instruction)):
                    one = alike.popleft()
                    pairs[one] = instruction
                    backwards[instruction.name] = one.name
            done = set(pairs.values())
            left = [instruction for instruction in left if instruction not in pairs]
            right = [instruction for instruction in right if instruction not in done]

        take(lambda i: (first[i], i.name), lambda i: (second[i], i.name))
        take(first.__getitem__, second.__getitem__)
        take(lambda i: (i.name, i.opcode), lambda i: (i.name, i.opcode))
        take(
            lambda i: (i.opcode, i.shape.plain, i.operands) if i.operands else None,
            lambda i: (i.opcode, i.shape.plain, tuple(backwards.get(name, name) for name in i.operands)),
        )
        take(lambda i: (i.opcode, i.shape.text), lambda i: (i.opcode, i.shape.text))
        self._matching.instructions.update(pairs)
        self._matching.names.update({(before.name, one.name): other.name for one, other in pairs.items()})
        return list(pairs.items())
