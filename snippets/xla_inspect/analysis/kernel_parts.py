"""What the kernels of a module consist of, and what flows from one to another."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import is_fusion
from xla_inspect.analysis.launches import Launch, list_launches
from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo import Instruction, Module

_PASSING = frozenset({"bitcast", "get-tuple-element", "tuple", "opt-barrier", "reshape"})
"""What hands a value on without a launch of its own."""
HEAVY = (
    "dot",
    "convolution",
    "custom-call",
    "reduce",
    "scatter",
    "gather",
    "sort",
    "reduce-window",
    "dynamic-update-slice",
)
"""Opcodes that a kernel is mostly about, where it has one, the weightiest first."""
_STEPS = 200


class KernelParts:
    """The launches of an optimized module, by what they are made of.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Find the launches."""
        self.module = module
        self.launches: tuple[Launch, ...] = list_launches(module)

    @cached_property
    def _parts(self) -> Mapping[str, tuple[Instruction, ...]]:
        return {launch.scheduled.name: tuple(self._open(launch.instruction)) for launch in self.launches}

    @cached_property
    def _holders(self) -> Mapping[Instruction, Launch]:
        holders = {part: launch for launch in self.launches for part in self._parts[launch.scheduled.name]}
        for launch in self.launches:
            holders[launch.instruction] = holders[launch.scheduled] = launch
            if launch.is_async:
                for user in self.module.users(launch.scheduled):
                    if user.opcode.endswith("-done"):
                        holders[user] = launch
        return holders

    def parts(self, launch: Launch) -> tuple[Instruction, ...]:
        """Return what a launch computes: itself with all that it fuses, without parameters and constants."""
        return self._parts[launch.scheduled.name]

    def holder(self, instruction: Instruction) -> Launch | None:
        """Return the launch that computes an instruction, or None where none does."""
        return self._holders.get(instruction)

    def hero(self, launch: Launch) -> Instruction:
        """Return the part that a launch is mostly about: a matmul, a reduction, or its result."""
        parts = self.parts(launch)
        for opcode in HEAVY:
            if found := next((part for part in parts if part.opcode == opcode and not is_fusion(part)), None):
                return found
        roots = [part for part in parts if part.is_root and not is_fusion(part)]
        return roots[-1] if roots else launch.instruction

    def readers(self, launch: Launch) -> tuple[Launch, ...]:
        """Return the launches that read what a launch writes, in the order of the schedule."""
        found = {each.scheduled for each in self._follow(launch, backward=False)}
        return tuple(each for each in self.launches if each.scheduled in found)

    def feeders(self, launch: Launch) -> tuple[Launch, ...]:
        """Return the launches that write what a launch reads, in the order of the schedule."""
        found = {each.scheduled for each in self._follow(launch, backward=True)}
        return tuple(each for each in self.launches if each.scheduled in found)

    def is_returned(self, launch: Launch) -> bool:
        """Return whether a result of the computation around it is what a launch writes."""
        computation = self.module.computation(launch.scheduled.computation)
        seen, waiting = set[str](), [launch.scheduled]
        while waiting and len(seen) < _STEPS:
            each = waiting.pop()
            if each.is_root:
                return True
            for user in computation.users(each.name):
                if (user.opcode in _PASSING or user.opcode.endswith("-done")) and user.name not in seen:
                    seen.add(user.name)
                    waiting.append(user)
        return False

    def arguments(self, launch: Launch) -> tuple[Instruction, ...]:
        """Return the parameters of the computation around it that a launch reads."""
        found: dict[Instruction, None] = {}
        waiting, seen = list(self.module.operands(launch.scheduled)), set[str]()
        while waiting and len(seen) < _STEPS:
            each = waiting.pop(0)
            if each.name in seen:
                continue
            seen.add(each.name)
            if each.opcode == "parameter":
                found[each] = None
            elif self.holder(each) is None:
                waiting += self.module.operands(each)
        return tuple(found)

    def _follow(self, launch: Launch, *, backward: bool) -> Iterator[Launch]:
        computation = self.module.computation(launch.scheduled.computation)

        def list_next(instruction: Instruction) -> tuple[Instruction, ...]:
            return computation.operands(instruction) if backward else computation.users(instruction.name)

        waiting, seen = list(list_next(launch.scheduled)), set[str]()
        while waiting and len(seen) < _STEPS:
            each = waiting.pop(0)
            if each.name in seen:
                continue
            seen.add(each.name)
            holder = self.holder(each)
            if holder is not None and holder is not launch:
                yield holder
            elif holder is launch or each.opcode in _PASSING or each.opcode.endswith("-done"):
                waiting += list_next(each)

    def _open(self, instruction: Instruction) -> Iterator[Instruction]:
        """Yield an instruction with all that it fuses."""
        waiting, seen = [instruction], set[str]()
        while waiting:
            each = waiting.pop(0)
            if each.opcode not in IDLE or each is instruction:
                yield each
            if is_fusion(each):
                for called in self.module.called(each):
                    if called.name not in seen:
                        seen.add(called.name)
                        waiting += called.instructions
