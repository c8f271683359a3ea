"""The instructions that each launch of a module computes, and the launches between which values flow."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import is_fusion
from xla_inspect.analysis.launches import Launch, list_launches
from xla_inspect.analysis.value_flow import is_passed_on, search
from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo import Instruction, Module

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
"""The opcodes that characterize a kernel, most important first."""


class KernelParts:
    """The launches of an optimized module, and the instructions that each launch computes.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Find the launches of the module."""
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
            # The done of an asynchronous launch yields its result, so the done belongs to the launch as well.
            if launch.is_async:
                for user in self.module.users(launch.scheduled):
                    if user.opcode.endswith("-done"):
                        holders[user] = launch
        return holders

    def parts(self, launch: Launch) -> tuple[Instruction, ...]:
        """Return a launch's instruction and all that are fused into it, without opcodes that do no work (`IDLE`)."""
        return self._parts[launch.scheduled.name]

    def holder(self, instruction: Instruction) -> Launch | None:
        """Return the launch that computes an instruction, or None if no launch does."""
        return self._holders.get(instruction)

    def hero(self, launch: Launch) -> Instruction:
        """Return the most important instruction of a launch: the first by the order of `HEAVY`, or else its root."""
        parts = self.parts(launch)
        for opcode in HEAVY:
            if heavy := next((part for part in parts if part.opcode == opcode and not is_fusion(part)), None):
                return heavy
        roots = [part for part in parts if part.is_root and not is_fusion(part)]
        return roots[-1] if roots else launch.instruction

    def readers(self, launch: Launch) -> tuple[Launch, ...]:
        """Return the launches that read the result of a launch, in the order of the schedule."""
        # The search may reach a launch several times and in any order, but the schedule has each launch once.
        instructions = {reader.scheduled for reader in self._follow(launch, backward=False)}
        return tuple(reader for reader in self.launches if reader.scheduled in instructions)

    def feeders(self, launch: Launch) -> tuple[Launch, ...]:
        """Return the launches that write the operands of a launch, in the order of the schedule."""
        instructions = {feeder.scheduled for feeder in self._follow(launch, backward=True)}
        return tuple(feeder for feeder in self.launches if feeder.scheduled in instructions)

    def is_returned(self, launch: Launch) -> bool:
        """Return whether the surrounding computation returns a result of a launch."""
        return any(value.is_root for value in search([launch.scheduled], lambda value: self._list_same(value, launch)))

    def arguments(self, launch: Launch) -> tuple[Instruction, ...]:
        """Return the surrounding computation's parameters that a launch reads, directly or without a launch between."""

        def list_before(value: Instruction) -> tuple[Instruction, ...]:
            return self.module.operands(value) if self.holder(value) is None else ()

        reached = search(self.module.operands(launch.scheduled), list_before)
        return tuple(value for value in reached if value.opcode == "parameter")

    def _list_same(self, value: Instruction, launch: Launch) -> Iterator[Instruction]:
        """Yield the users that pass on the result of a launch without a launch of their own."""
        for user in self.module.users(value):
            holder = self.holder(user)
            if holder is launch or (holder is None and is_passed_on(user)):
                yield user

    def _follow(self, launch: Launch, *, backward: bool) -> Iterator[Launch]:
        def list_next(value: Instruction) -> tuple[Instruction, ...]:
            holder = self.holder(value)
            if holder is not launch and (holder is not None or not is_passed_on(value)):
                return ()
            return self.module.operands(value) if backward else self.module.users(value)

        for value in search([launch.scheduled], list_next):
            holder = self.holder(value)
            if holder is not None and holder is not launch:
                yield holder

    def _open(self, instruction: Instruction) -> Iterator[Instruction]:
        """Return an instruction and all instructions that it fuses, without fused ones that do no work (`IDLE`)."""

        def list_fused(part: Instruction) -> Iterator[Instruction]:
            for callees in self.module.called(part) if is_fusion(part) else ():
                yield from callees

        parts = search([instruction], list_fused)
        return (part for part in parts if part.opcode not in IDLE or part is instruction)
