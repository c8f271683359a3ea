"""What the devices of a partitioned program send each other: every collective of a module, with its bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
REDUCE_SCATTER = "all-reduce-scatter"
"""What the TPU's compiler calls a fusion of an all-reduce with the slice that each device keeps of its result."""

STEP = "async_collective_fusion_config"
"""What the TPU's compiler writes into the configuration of each step of a collective that it split."""

_MESH = re.compile(r"mesh\[(?P<axes>[^\]]*)\]\s*\{(?P<used>[^}]*)\}")
_AXIS = re.compile(r"'(?P<name>[^']*)'=(?P<size>\d+)")
_USED = re.compile(r"'(?P<name>[^']*)'(?::\(\d+\)(?P<size>\d+))?")
_TILES = re.compile(r"\[(?P<groups>[\d,]+)\]<=")
_LIST = re.compile(r"\{\{(?P<first>[\d,]*)\}")


@dataclass(frozen=True, slots=True)
class Collective:
    """One exchange between devices.

    Attributes:
        name: The instruction that exchanges, or the first of its steps where it is split into several.
        kind: One of `KINDS`, or `all-reduce-scatter`.
        operand_bytes: The bytes that each device brings.
        group: How many devices take part in one exchange together.
        is_async: Whether other instructions run between its start and its end.
    """

    name: str
    kind: str
    operand_bytes: int
    group: int
    is_async: bool

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
    callers = {name: caller for caller in module.walk() for name in caller.called}
    collectives: dict[object, Collective] = {}
    for instruction in module.walk():
        kind = name_kind(instruction)
        if kind is None:
            continue
        above = list(_climb(instruction, module, callers))
        fused = any(REDUCE_SCATTER in step.computation for step in (instruction, *above))
        identity = (
            instruction.attributes.get("channel_id") if STEP in (instruction.backend_config or "") else instruction
        )
        collectives.setdefault(
            identity,
            Collective(
                name=instruction.name,
                kind=REDUCE_SCATTER if fused and kind == "all-reduce" else kind,
                operand_bytes=sum(operand.shape.bytes for operand in module.operands(instruction)),
                group=_count_group(instruction, module),
                is_async=is_async(instruction) or any(step.opcode == "async-start" for step in above),
            ),
        )
    return tuple(collectives.values())


def name_kind(instruction: Instruction) -> str | None:
    """Return the kind of collective that an instruction starts or is, one of `KINDS`, or None."""
    opcode = instruction.opcode.removesuffix("-start")
    return opcode if opcode in COLLECTIVE_KINDS else None


def is_async(instruction: Instruction) -> bool:
    """Return whether an instruction is the start of a collective, or a step of one that the TPU's compiler split."""
    return instruction.opcode.endswith("-start") or STEP in (instruction.backend_config or "")


def _climb(instruction: Instruction, module: Module, callers: dict[str, Instruction]) -> Iterator[Instruction]:
    """Yield the instructions that call an instruction's computation, the nearest first, up to ENTRY's."""
    computation = instruction.computation
    while computation != module.entry.name and computation in callers:
        caller = callers[computation]
        yield caller
        computation = caller.computation


def _count_group(instruction: Instruction, module: Module) -> int:
    """Return how many devices `replica_groups` puts together, in any of the forms that XLA prints it in."""
    text = instruction.attributes.get("replica_groups", "")
    if match := _MESH.search(text):
        sizes = {axis["name"]: int(axis["size"]) for axis in _AXIS.finditer(match["axes"])}
        return math.prod(int(axis["size"] or sizes[axis["name"]]) for axis in _USED.finditer(match["used"]))
    if match := _TILES.match(text):
        return int(match["groups"].split(",")[-1])
    if (match := _LIST.match(text)) and match["first"]:
        return match["first"].count(",") + 1
    return module.num_partitions
