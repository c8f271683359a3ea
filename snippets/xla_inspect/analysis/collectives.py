"""The communication between the devices of a partitioned program: each collective of a module, with its bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from xla_inspect.analysis.device_groups import count_group
from xla_inspect.analysis.loops import STRUCTURE, Loops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis.value_flow import ValueFlow
    from xla_inspect.hlo import Instruction, Module

COLLECTIVE_KINDS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
)
"""The opcodes of collectives, which exchange data between devices, that `list_collectives` recognizes."""

REDUCE_SCATTER = "all-reduce-scatter"
"""The TPU compiler's name for the fusion of an all-reduce with a slice, of which each device keeps its own part."""

STEP = "async_collective_fusion_config"
"""The key that the TPU compiler writes into the backend config of each step of a split collective."""


@dataclass(frozen=True, slots=True)
class Collective:
    """One exchange between devices.

    Attributes:
        name: The name of the collective instruction, or of its first step if it is split into several.
        kind: One of `COLLECTIVE_KINDS`, or `all-reduce-scatter`.
        operand_bytes: The bytes of the operands on each device.
        group: The number of devices in each group.
        is_async: Whether other instructions may run between its start and its end.
        instruction: The instruction itself.
        scheduled: Its instruction in the schedule: the collective itself, or the start or fusion that contains it.
        done: The instruction in the schedule that waits for the collective, or `scheduled` if there is none.
        within: The loops and branches around it, innermost first.
        runs: The number of runs, or None if it is unknown, as in a branch or a loop without a known trip count.
        assumed_runs: The number of runs for totals, where each loop or branch with an unknown number runs once.
    """

    name: str
    kind: str
    operand_bytes: int
    group: int
    is_async: bool
    instruction: Instruction
    scheduled: Instruction
    done: Instruction
    within: tuple[Instruction, ...]
    runs: int | None
    assumed_runs: int

    @property
    def sent_bytes(self) -> int:
        """The smallest number of bytes that each device must send, with any algorithm.

        The factors are those that nccl-tests uses to convert times into bandwidths (its doc/PERFORMANCE.md). A device
        with S bytes in a group of n sends S (n - 1) / n bytes to scatter or exchange them, twice that for an
        all-reduce, and S (n - 1) bytes for an all-gather.
        """
        others = self.group - 1
        if self.kind == "all-gather":
            return self.operand_bytes * others
        if self.kind in {"collective-permute", "collective-broadcast"}:
            return self.operand_bytes
        times = 2 if self.kind == "all-reduce" else 1
        return times * self.operand_bytes * others // self.group


def list_collectives(module: Module) -> tuple[Collective, ...]:
    """Return the collectives of a module in order, including those inside fusions and asynchronous computations.

    The TPU compiler splits a collective into steps to overlap it with fusions, and prints the collective in each step
    with the same `channel_id`. A split collective counts once.
    """
    loops = Loops(module)
    collectives: dict[object, Collective] = {}
    last: dict[object, Instruction] = {}
    for instruction in module.walk():
        kind = name_kind(instruction)
        if kind is None:
            continue
        around = list(_climb(instruction, module))
        # The other operands of a ragged exchange are its result's buffer, and the offsets and sizes of the rows.
        operands = module.operands(instruction)[: 1 if kind == "ragged-all-to-all" else None]
        # The schedule contains the outermost caller within the innermost loop or branch.
        *_, scheduled = takewhile(lambda step: step.opcode not in STRUCTURE, around)
        is_cut = any(REDUCE_SCATTER in caller.computation for caller in around)
        identity = (
            instruction.attributes.get("channel_id") if STEP in (instruction.backend_config or "") else instruction
        )
        # All steps of a split collective share one identity, so the last step overwrites the earlier ones.
        last[identity] = scheduled
        collectives.setdefault(
            identity,
            Collective(
                name=instruction.name,
                kind=REDUCE_SCATTER if is_cut and kind == "all-reduce" else kind,
                operand_bytes=sum(operand.shape.bytes for operand in operands),
                group=count_group(instruction.attributes.get("replica_groups", ""), module.device_count),
                is_async=is_async(instruction) or any(step.opcode == "async-start" for step in around),
                instruction=instruction,
                scheduled=scheduled,
                done=scheduled,
                within=tuple(step for step in around if step.opcode in {"while", "conditional"}),
                runs=loops.count_runs(instruction.computation),
                assumed_runs=loops.count_assumed_runs(instruction.computation),
            ),
        )
    return tuple(
        replace(collective, done=_find_done(module, collective, last[identity]))
        for identity, collective in collectives.items()
    )


def _find_done(module: Module, collective: Collective, last: Instruction) -> Instruction:
    """Return the instruction that waits for a collective: its last step, the `-done` of its start, or else itself."""
    if last is not collective.scheduled and last.computation == collective.scheduled.computation:
        return last
    users = module.users(collective.scheduled)
    return next((user for user in users if user.opcode.endswith("-done")), collective.scheduled)


def is_cut_anew(flow: ValueFlow, collective: Collective) -> bool:
    """Return whether each device uses only its own part of an all-gather's result; False for any other collective.

    The partitioner falls back to this when it knows no direct way from one sharding to another: it gathers the whole
    value on every device, and each device then slices it by its own number.

    Args:
        flow: The value flow of the collective's module.
        collective: The collective to check.
    """
    if collective.kind != "all-gather":
        return False
    uses = [use for use, _ in flow.find_uses(collective.done if collective.is_async else collective.instruction)]
    # Without any use, `all` would be true.
    return bool(uses) and all(
        use.opcode == "dynamic-slice"
        and any(flow.depends_on(number, "partition-id") for number in flow.module.operands(use)[1:])
        for use in uses
    )


def name_kind(instruction: Instruction) -> str | None:
    """Return the kind of collective that an instruction performs or starts, one of `COLLECTIVE_KINDS`, or None.

    A `send` to another device is a `collective-permute`, which the compiler splits into a `send` and a `recv`.
    """
    if instruction.opcode == "send" and instruction.attributes.get("is_host_transfer") != "true":
        return "collective-permute"
    # An `async-start` that is printed with the name of the collective has no computation that contains the collective.
    is_named = instruction.opcode == "async-start" and instruction.wrapped
    opcode = instruction.wrapped if is_named else instruction.opcode.removesuffix("-start")
    return opcode if opcode in COLLECTIVE_KINDS else None


def is_async(instruction: Instruction) -> bool:
    """Return whether an instruction is any asynchronous start, or a step of a collective that a TPU compiler split."""
    return (
        instruction.opcode.endswith("-start")
        or instruction.opcode == "send"
        or STEP in (instruction.backend_config or "")
    )


def _climb(instruction: Instruction, module: Module) -> Iterator[Instruction]:
    """Yield an instruction and its chain of callers (the last of several), innermost first, up to the entry."""
    yield instruction
    while calling := module.callers.get(instruction.computation):
        instruction = calling[-1]
        yield instruction
