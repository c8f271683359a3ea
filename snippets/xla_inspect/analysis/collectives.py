"""The communication between the devices of a partitioned program: every collective of a module, with its bytes."""

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
"""The opcodes by which devices exchange data, those that `list_collectives` knows."""

REDUCE_SCATTER = "all-reduce-scatter"
"""What the TPU's compiler calls a fusion of an all-reduce with the slice that each device keeps of its result."""

STEP = "async_collective_fusion_config"
"""What the TPU's compiler writes into the configuration of each step of a collective that it split."""


@dataclass(frozen=True, slots=True)
class Collective:
    """One exchange between devices.

    Attributes:
        name: The instruction that exchanges, or the first of its steps where it is split into several.
        kind: One of `KINDS`, or `all-reduce-scatter`.
        operand_bytes: The bytes that each device brings.
        group: The number of devices in each group.
        is_async: Whether other instructions run between its start and its end.
        instruction: The instruction itself.
        scheduled: Its instruction in the schedule: the collective itself, or the start or fusion that contains it.
        done: The instruction that waits for it in the schedule, or `scheduled` if there is no separate one.
        within: The loops and branches around it, the innermost first.
        runs: The number of runs, or None if it is unknown, as in a branch or a loop without a known trip count.
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

    @property
    def sent_bytes(self) -> int:
        """The least that each device sends, whatever the algorithm.

        The factors are those by which nccl-tests turns times into bandwidths (its doc/PERFORMANCE.md): a device that
        brings S bytes to a group of n sends S (n - 1) / n to scatter or exchange them, twice that to reduce them for
        all, and S (n - 1) to give them to all.
        """
        others = self.group - 1
        if self.kind == "all-gather":
            return self.operand_bytes * others
        if self.kind in {"collective-permute", "collective-broadcast"}:
            return self.operand_bytes
        times = 2 if self.kind == "all-reduce" else 1
        return times * self.operand_bytes * others // self.group


def list_collectives(module: Module) -> tuple[Collective, ...]:
    """Return the collectives of a module, those inside fusions and asynchronous computations too, in its order.

    A collective that the compiler splits into steps, as the TPU's does to overlap one with other fusions, is printed in
    each of them with one `channel_id`; it counts once.
    """
    loops = Loops(module)
    collectives: dict[object, Collective] = {}
    last: dict[object, Instruction] = {}
    for instruction in module.walk():
        kind = name_kind(instruction)
        if kind is None:
            continue
        around = list(_climb(instruction, module))
        # What stands for it is the outermost step below the innermost loop.
        *_, scheduled = takewhile(lambda step: step.opcode not in STRUCTURE, around)
        is_cut = any(REDUCE_SCATTER in item.computation for item in around)
        identity = (
            instruction.attributes.get("channel_id") if STEP in (instruction.backend_config or "") else instruction
        )
        last[identity] = scheduled
        collectives.setdefault(
            identity,
            Collective(
                name=instruction.name,
                kind=REDUCE_SCATTER if is_cut and kind == "all-reduce" else kind,
                operand_bytes=sum(operand.shape.bytes for operand in module.operands(instruction)),
                group=count_group(instruction.attributes.get("replica_groups", ""), module.num_partitions),
                is_async=is_async(instruction) or any(step.opcode == "async-start" for step in around),
                instruction=instruction,
                scheduled=scheduled,
                done=scheduled,
                within=tuple(step for step in around if step.opcode in {"while", "conditional"}),
                runs=loops.count_runs(instruction.computation),
            ),
        )
    return tuple(
        replace(result, done=_find_done(module, result, last[identity])) for identity, result in collectives.items()
    )


def _find_done(module: Module, found: Collective, last: Instruction) -> Instruction:
    """Return the instruction that waits for a collective: the last of its steps, or the done of its start."""
    if last is not found.scheduled and last.computation == found.scheduled.computation:
        return last
    users = module.users(found.scheduled)
    return next((user for user in users if user.opcode.endswith("-done")), found.scheduled)


def is_cut_anew(flow: ValueFlow, collective: Collective) -> bool:
    """Return whether each device uses only its own part of the result of an all-gather.

    That is how the partitioner goes from one sharding to another where it knows no other way: it makes the whole value
    on every device, and cuts it again by the number of the device.

    Args:
        flow: The values of the collective's module.
        collective: The collective.
    """
    if collective.kind != "all-gather":
        return False
    uses = [use for use, _ in flow.find_uses(collective.done if collective.is_async else collective.instruction)]
    return bool(uses) and all(
        use.opcode == "dynamic-slice"
        and any(flow.depends_on(number, "partition-id") for number in flow.module.operands(use)[1:])
        for use in uses
    )


def name_kind(instruction: Instruction) -> str | None:
    """Return the kind of collective that an instruction starts or is, one of `KINDS`, or None."""
    opcode = instruction.opcode.removesuffix("-start")
    return opcode if opcode in COLLECTIVE_KINDS else None


def is_async(instruction: Instruction) -> bool:
    """Return whether an instruction is the start of a collective, or a step of one that the TPU's compiler split."""
    return instruction.opcode.endswith("-start") or STEP in (instruction.backend_config or "")


def _climb(instruction: Instruction, module: Module) -> Iterator[Instruction]:
    """Yield an instruction, and those that call its computation, the nearest first, up to ENTRY's."""
    yield instruction
    while calling := module.callers.get(instruction.computation):
        instruction = calling[-1]
        yield instruction
