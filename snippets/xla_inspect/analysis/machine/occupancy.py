"""The occupancy of a GPU's multiprocessor by a kernel's warps, and the resources that limit it.

The rules are those of NVIDIA's own calculator, `cuda_occupancy.h` of the CUDA toolkit, for compute capability 8.0, 9.0
and 10.0; the figures are those of the device's description, which agree with the table *Technical Specifications per
Compute Capability* of the CUDA programming guide:
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#features-and-technical-specifications
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REGISTERS, SHARED, WARPS, BLOCKS, BARRIERS = "registers", "shared memory", "threads", "blocks", "barriers"
"""What a multiprocessor may run out of."""

SUBPARTITIONS = 4
"""Parts of a multiprocessor, each with a quarter of its registers; a warp stays in one."""

REGISTER_UNIT = 256
"""A warp gets registers in so many at a time."""

SHARED_UNIT = 128
"""A block gets shared memory in so many bytes at a time."""

MOST_REGISTERS = 255
"""Registers that one thread can have."""

BARRIERS_PER_BLOCK = 2
"""Barriers of a multiprocessor for each block that it may hold."""

BARRIERS_COUNT_FROM = 9
"""The compute capability from which barriers may bind."""

# Device descriptions of older GPUs lack these two; of compute capability 8.0 they are the table's.
_DEFAULTS = {"max_blocks_per_multiprocessor": 32, "reserved_shared_memory_per_block": 1024}


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources of one multiprocessor (SM) of a GPU.

    Attributes:
        capability: The first number of the GPU's compute capability, such as 9 of 9.0.
        multiprocessors: The number of multiprocessors of the GPU.
        warp: Threads of a warp.
        threads: Threads that it holds at once.
        blocks: Blocks that it holds at once.
        registers: Registers of 32 bits.
        block_registers: Registers that one block can have.
        block_threads: Threads that one block can have.
        shared: Bytes of shared memory.
        block_shared: Bytes of shared memory that one block can have, where it asks for more than the usual 48 KiB.
        reserved: Bytes of shared memory that the driver takes for each block.
    """

    capability: int
    multiprocessors: int
    warp: int
    threads: int
    blocks: int
    registers: int
    block_registers: int
    block_threads: int
    shared: int
    block_shared: int
    reserved: int

    @property
    def warps(self) -> int:
        """The number of resident warps."""
        return self.threads // self.warp


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The largest occupancy of a multiprocessor by a kernel.

    Attributes:
        blocks: Blocks that it holds at once; none where a block asks for more than there is.
        warps: Their warps.
        most_warps: The warps that it can hold.
        allowed: For each resource, the number of blocks that it allows.
        bound_by: The resources that allow the fewest blocks.
        grid: Blocks that one launch has.
        waves: The number of times that all blocks fill the GPU, which may be a fraction.
    """

    blocks: int
    warps: int
    most_warps: int
    allowed: Mapping[str, int]
    bound_by: tuple[str, ...]
    grid: int
    waves: float

    @property
    def share(self) -> float:
        """Its warps as a share of those that it can hold: the theoretical occupancy."""
        return self.warps / self.most_warps


def read_limits(description: str) -> Limits:
    """Read the resources of a multiprocessor from a device description in the compiler's text form.

    Raises:
        KeyError: It lacks a figure.
    """
    result = {name: int(value) for name, value in re.findall(r"^\s*(\w+): (\d+)$", description, re.MULTILINE)}
    figures = {**_DEFAULTS, **result}
    return Limits(
        capability=figures["major"],
        multiprocessors=figures["core_count"],
        warp=figures["threads_per_warp"],
        threads=figures["threads_per_core_limit"],
        blocks=figures["max_blocks_per_multiprocessor"],
        registers=figures["registers_per_core_limit"],
        block_registers=figures["registers_per_block_limit"],
        block_threads=figures["threads_per_block_limit"],
        shared=figures["shared_memory_per_core"],
        block_shared=figures["shared_memory_per_block_optin"],
        reserved=figures["reserved_shared_memory_per_block"],
    )


def find_occupancy(  # noqa: PLR0913 - what a launch takes of a multiprocessor
    limits: Limits, *, threads: int, registers: int, shared: int, barriers: int = 0, grid: int = 0
) -> Occupancy:
    """Return how full a kernel can make a multiprocessor.

    Args:
        limits: The resources of a multiprocessor.
        threads: Threads of a block.
        registers: Registers of a thread.
        shared: Bytes of shared memory of a block, what its code declares and what its launch asks for.
        barriers: Barriers of a block.
        grid: Blocks of the launch.
    """
    warps = _divide_up(threads, limits.warp)
    asked = _round_up(shared + limits.reserved, SHARED_UNIT)
    allowed = {
        WARPS: limits.warps // warps if threads <= limits.block_threads else 0,
        BLOCKS: limits.blocks,
        REGISTERS: _count_by_registers(limits, warps, registers),
        SHARED: limits.shared // asked if asked <= limits.block_shared + limits.reserved else 0,
    }
    if barriers and limits.capability >= BARRIERS_COUNT_FROM:
        allowed[BARRIERS] = limits.blocks * BARRIERS_PER_BLOCK // barriers
    blocks = min(allowed.values())
    return Occupancy(
        blocks=blocks,
        warps=blocks * warps,
        most_warps=limits.warps,
        allowed=allowed,
        bound_by=tuple(name for name, number in allowed.items() if number == blocks),
        grid=grid,
        waves=grid / (blocks * limits.multiprocessors) if blocks else 0.0,
    )


def _count_by_registers(limits: Limits, warps: int, registers: int) -> int:
    """Count the blocks for which a multiprocessor has registers; each of its parts runs only whole warps."""
    of_warp = _round_up(registers * limits.warp, REGISTER_UNIT)
    if registers > MOST_REGISTERS or of_warp * _round_up(warps, SUBPARTITIONS) > limits.block_registers:
        return 0
    if not of_warp:
        return limits.blocks
    return limits.registers // SUBPARTITIONS // of_warp * SUBPARTITIONS // warps


def _divide_up(number: int, unit: int) -> int:
    return -(-number // unit)


def _round_up(number: int, unit: int) -> int:
    return _divide_up(number, unit) * unit
