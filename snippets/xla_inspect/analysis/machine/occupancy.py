"""The occupancy of a GPU's multiprocessor by a kernel's warps, and the resources that limit it.

The rules for an NVIDIA GPU are those of NVIDIA's own calculator, `cuda_occupancy.h` of the CUDA toolkit, for compute
capability 8.0, 9.0 and 10.0. The figures come from the device's description and agree with the table *Technical
Specifications per Compute Capability* of the CUDA programming guide:
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#features-and-technical-specifications

The rules for an AMD GPU are those of LLVM for CDNA 2 to 4 (gfx90a, gfx942, gfx950), with a compute unit for a
multiprocessor and a wave for a warp. Each of the four SIMD units of a compute unit holds at most eight waves, 512 VGPRs
for each thread of a wave (AGPRs included) in units of eight, and 800 SGPRs. LDS is allocated in units of 512 bytes, or
1,280 on gfx950. The 16 barriers of a compute unit suffice for 32 waves, because a block of one wave needs none:
https://github.com/llvm/llvm-project/blob/llvmorg-21.1.6/llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp
https://llvm.org/docs/AMDGPUUsage.html#amdgpu-amdhsa-compute-pgm-rsrc2-gfx6-gfx12-table
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.targets import PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.targets import Terms

WARPS, BLOCKS, BARRIERS, SCALAR = "threads", "blocks", "barriers", "SGPRs"
"""The resources that can limit the number of blocks on a multiprocessor, besides registers and shared memory."""

SUBPARTITIONS = 4
"""The number of partitions of a multiprocessor, each with a quarter of its registers; a warp stays in one."""

BARRIERS_PER_BLOCK = 2
"""The number of barriers of an NVIDIA multiprocessor for each of its possible blocks."""

BARRIERS_COUNT_FROM = 9
"""The first major compute capability on which barriers can limit the occupancy."""

# Device descriptions of older GPUs lack these two figures. The values are those of NVIDIA's table for compute
# capability 8.0.
_DEFAULTS = {"max_blocks_per_multiprocessor": 32, "reserved_shared_memory_per_block": 1024}
# Descriptions of AMD GPUs lack all of these, and that of the MI250 also the number of registers.
_AMD_DEFAULTS = {
    "max_blocks_per_multiprocessor": 32,
    "reserved_shared_memory_per_block": 0,
    "registers_per_core_limit": 131072,
    "registers_per_block_limit": 131072,
}
_GPU_NAME = re.compile(r'gcn_arch_name: "(\w+)')


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources of one multiprocessor (SM) of a GPU.

    Attributes:
        terms: The maker's words.
        multiprocessors: The number of multiprocessors of the GPU.
        warp: The threads of a warp.
        threads: The largest number of resident threads.
        blocks: The largest number of resident blocks.
        registers: The number of 32-bit registers.
        block_registers: The largest number of registers of one block.
        block_threads: The largest number of threads of one block.
        shared: The bytes of shared memory.
        block_shared: The largest shared memory of one block in bytes, if it requests more than the default 48 KiB.
        reserved: The bytes of shared memory that the driver reserves for each block.
        register_unit: The granularity, in registers, in which a warp is allocated registers.
        shared_unit: The granularity, in bytes, in which a block is allocated shared memory.
        most_registers: The largest number of registers of one thread.
        barriers: The number of barriers, or 0 if they cannot limit the occupancy.
        scalar: The number of SGPRs, which serve a whole wave of an AMD GPU; 0 for other GPUs.
    """

    terms: Terms
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
    register_unit: int
    shared_unit: int
    most_registers: int
    barriers: int
    scalar: int

    @property
    def warps(self) -> int:
        """The largest number of resident warps."""
        return self.threads // self.warp


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The largest occupancy of a multiprocessor by a kernel.

    Attributes:
        blocks: The number of resident blocks; 0 if one block needs more than the multiprocessor has.
        warps: The number of resident warps.
        most_warps: The largest possible number of resident warps.
        allowed: For each resource, the number of blocks that it allows.
        bound_by: The resources that allow the fewest blocks.
        grid: The number of blocks of one launch.
        waves: The number of times that the blocks of a launch fill the whole GPU, which may be a fraction.
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
        """The theoretical occupancy: the resident warps as a share of the largest possible number."""
        return self.warps / self.most_warps


def read_limits(description: str) -> Limits:
    """Return the resources of a multiprocessor from a device description in the compiler's text form.

    Raises:
        KeyError: The description lacks a figure.
    """
    numbers = {name: int(value) for name, value in re.findall(r"^\s*(\w+): (\d+)$", description, re.MULTILINE)}
    amd = _GPU_NAME.search(description)
    figures = {**(_AMD_DEFAULTS if amd else _DEFAULTS), **numbers}
    blocks = figures["max_blocks_per_multiprocessor"]
    if amd:
        units = {"register_unit": 512, "shared_unit": 1280 if amd[1] == "gfx950" else 512, "most_registers": 512}
        barriers, scalar = 0, 800 * SUBPARTITIONS
    else:
        units = {"register_unit": 256, "shared_unit": 128, "most_registers": 255}
        barriers, scalar = blocks * BARRIERS_PER_BLOCK * (figures["major"] >= BARRIERS_COUNT_FROM), 0
    return Limits(
        terms=PLATFORMS["rocm" if amd else "cuda"].terms,
        multiprocessors=figures["core_count"],
        warp=figures["threads_per_warp"],
        threads=figures["threads_per_core_limit"],
        blocks=blocks,
        registers=figures["registers_per_core_limit"],
        block_registers=figures["registers_per_block_limit"],
        block_threads=figures["threads_per_block_limit"],
        shared=figures["shared_memory_per_core"],
        block_shared=figures["shared_memory_per_block_optin"],
        reserved=figures["reserved_shared_memory_per_block"],
        barriers=barriers,
        scalar=scalar,
        **units,
    )


def find_occupancy(  # noqa: PLR0913 - a launch uses all of these resources
    limits: Limits, *, threads: int, registers: int, shared: int, scalar: int = 0, barriers: int = 0, grid: int = 0
) -> Occupancy:
    """Return the largest possible occupancy of a multiprocessor by a kernel, which is computed and not measured.

    Args:
        limits: The resources of a multiprocessor.
        threads: The threads of a block.
        registers: The registers of a thread.
        shared: The bytes of shared memory of a block: those that the code declares plus those that the launch requests.
        scalar: The SGPRs of a wave of an AMD GPU.
        barriers: The barriers of a block of an NVIDIA GPU.
        grid: The blocks of the launch.
    """
    warps = _divide_up(threads, limits.warp)
    block_shared = _round_up(shared + limits.reserved, limits.shared_unit)
    # The size of a block includes the reserved memory here, but its limit does not.
    most_shared = limits.block_shared + limits.reserved
    allowed = {
        WARPS: limits.warps // warps if threads <= limits.block_threads else 0,
        BLOCKS: limits.blocks,
        limits.terms.registers: _count_by_registers(limits, warps, registers),
        limits.terms.shared: limits.shared // max(block_shared, 1) if block_shared <= most_shared else 0,
    }
    if barriers and limits.barriers:
        allowed[BARRIERS] = limits.barriers // barriers
    if scalar and limits.scalar:
        allowed[SCALAR] = limits.scalar // SUBPARTITIONS // scalar * SUBPARTITIONS // warps
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
    """Return the number of blocks that the registers allow; each partition holds only whole warps."""
    # The hardware allocates registers to whole warps in fixed units, and a warp stays in one partition.
    of_warp = _round_up(registers * limits.warp, limits.register_unit)
    if registers > limits.most_registers or of_warp * _round_up(warps, SUBPARTITIONS) > limits.block_registers:
        return 0
    # A kernel without registers is not limited by them, and the division below would fail.
    if not of_warp:
        return limits.blocks
    return limits.registers // SUBPARTITIONS // of_warp * SUBPARTITIONS // warps


def _divide_up(number: int, unit: int) -> int:
    return -(-number // unit)


def _round_up(number: int, unit: int) -> int:
    return _divide_up(number, unit) * unit
