"""Occupancy agrees with NVIDIA's calculator and the tables of the CUDA guide."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from xla_inspect.analysis.machine import find_occupancy, read_limits
from xla_inspect.targets import read_spec

CAPABILITY = {"a100": 8, "h100": 9, "h200": 9, "b200": 10}

CALCULATOR = """
#include <cstdio>
#include <climits>
#include <cstring>
#include "cuda_occupancy.h"
int main() {
  int major, threads, registers, fixed, dynamic, barriers, warp, of_sm, of_block, of_threads, sms;
  size_t shared, optin, reserved;
  while (scanf("%d %d %d %d %d %d %d %d %d %d %d %zu %zu %zu", &major, &threads, &registers, &fixed, &dynamic,
               &barriers, &warp, &of_sm, &of_block, &of_threads, &sms, &shared, &optin, &reserved) == 14) {
    cudaOccDeviceProp device;
    memset(&device, 0, sizeof device);
    device.computeMajor = major;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = of_threads;
    device.regsPerBlock = of_block;
    device.regsPerMultiprocessor = of_sm;
    device.warpSize = warp;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared;
    device.numSms = sms;
    device.sharedMemPerBlockOptin = optin;
    device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes kernel;
    memset(&kernel, 0, sizeof kernel);
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = fixed;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = dynamic;
    kernel.numBlockBarriers = barriers;
    cudaOccDeviceState state;
    memset(&state, 0, sizeof state);
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    memset(&result, 0, sizeof result);
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic)) printf("-1\\n");
    else printf("%d\\n", result.activeBlocksPerMultiprocessor);
  }
}
"""

TAKEN = tuple(
    product(
        (32, 64, 96, 128, 160, 256, 384, 512, 1024),
        (8, 18, 32, 33, 40, 64, 107, 128, 168, 255),
        ((0, 0), (1024, 0), (0, 8192), (4096, 49152), (0, 101376), (0, 166000)),
        (0, 1, 4, 16),
    )
)


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of NVIDIA's calculator, compiled from a header of the CUDA runtime; skips without it or g++."""
    compiler = shutil.which("g++")
    try:
        files = importlib.metadata.files("nvidia-cuda-runtime") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    header = next((Path(str(file.locate())) for file in files if file.name == "cuda_occupancy.h"), None)
    if compiler is None or header is None:
        pytest.skip("needs g++ and the header of nvidia-cuda-runtime")
    folder = tmp_path_factory.mktemp("calculator")
    (folder / "calculator.cpp").write_text(CALCULATOR)
    command = [compiler, "-O1", "-w", "-I", str(header.parent), "calculator.cpp", "-o", "calculator"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "calculator"


@pytest.mark.parametrize("target", CAPABILITY)
def test_the_blocks_per_multiprocessor_match_nvidias_calculator(target: str, calculator: Path) -> None:
    limits = read_limits(read_spec(target))
    device = (
        limits.warp, limits.registers, limits.block_registers, limits.threads, limits.multiprocessors, limits.shared,
        limits.block_shared, limits.reserved,
    )  # fmt: skip
    lines = [
        " ".join(map(str, (CAPABILITY[target], threads, registers, fixed, dynamic, barriers, *device)))
        for threads, registers, (fixed, dynamic), barriers in TAKEN
    ]
    result = subprocess.run([calculator], input="\n".join(lines), capture_output=True, text=True, check=True)
    theirs = [int(line) for line in result.stdout.split()]
    ours = [
        find_occupancy(limits, threads=threads, registers=registers, shared=fixed + dynamic, barriers=barriers).blocks
        for threads, registers, (fixed, dynamic), barriers in TAKEN
    ]
    assert [(resources, a, b) for resources, a, b in zip(TAKEN, ours, theirs, strict=True) if a != b] == []


@pytest.mark.parametrize("target", CAPABILITY)
def test_the_limits_of_a_multiprocessor_match_the_table_of_the_cuda_guide(target: str) -> None:
    limits = read_limits(read_spec(target))
    # The table "Technical Specifications per Compute Capability" of the CUDA programming guide.
    assert (limits.warp, limits.threads, limits.warps, limits.blocks) == (32, 2048, 64, 32)
    assert (limits.registers, limits.block_registers) == (64 * 1024, 64 * 1024)
    shared = 164 if CAPABILITY[target] == 8 else 228
    assert (limits.shared, limits.block_shared) == (shared * 1024, (shared - 1) * 1024)


@pytest.mark.parametrize(
    ("resources", "share", "bound_by"),
    [
        ({"threads": 128, "registers": 32, "shared": 0}, 1.0, ("threads", "registers")),
        ({"threads": 32, "registers": 16, "shared": 0}, 0.5, ("blocks",)),
        ({"threads": 256, "registers": 128, "shared": 0}, 0.25, ("registers",)),
        ({"threads": 128, "registers": 32, "shared": 100 * 1024}, 0.125, ("shared memory",)),
        ({"threads": 128, "registers": 32, "shared": 228 * 1024}, 0.0, ("shared memory",)),
        ({"threads": 1024, "registers": 65, "shared": 0}, 0.0, ("registers",)),
        ({"threads": 64, "registers": 16, "shared": 0, "barriers": 16}, 0.125, ("barriers",)),
    ],
)
def test_the_scarcest_resource_limits_occupancy(
    resources: dict[str, int], share: float, bound_by: tuple[str, ...]
) -> None:
    occupancy = find_occupancy(read_limits(read_spec("h100")), **resources)
    assert (occupancy.share, occupancy.bound_by) == (share, bound_by)


def test_a_grid_that_fills_the_gpu_twice_runs_in_two_waves() -> None:
    limits = read_limits(read_spec("h100"))
    occupancy = find_occupancy(limits, threads=1024, registers=32, shared=0, grid=2 * 2 * limits.multiprocessors)
    assert (occupancy.blocks, occupancy.waves) == (2, 2.0)


def test_a_device_description_with_a_missing_figure_is_rejected() -> None:
    with pytest.raises(KeyError, match="major"):
        read_limits("gpu_device_info {}")


# The waves on one SIMD unit by the VGPRs of a thread, as LLVM's test prints them for gfx90a and gfx940 (8 down to 1):
# https://reviews.llvm.org/D138443
STEPS = ((1, 64), (65, 72), (73, 80), (81, 96), (97, 128), (129, 168), (169, 256), (257, 512))
WAVES_BY_VGPRS = {vgprs: 8 - number for number, step in enumerate(STEPS) for vgprs in step}


@pytest.mark.parametrize("target", ["mi250", "mi300x", "mi350x"])
def test_the_vgprs_of_an_amd_gpu_limit_its_waves_as_in_llvm(target: str) -> None:
    limits = read_limits(read_spec(target))
    assert (limits.warp, limits.warps, limits.registers, limits.reserved) == (64, 32, 4 * 512 * 64, 0)
    waves = {
        vgprs: find_occupancy(limits, threads=256, registers=vgprs, shared=0).warps // 4 for vgprs in WAVES_BY_VGPRS
    }
    assert waves == WAVES_BY_VGPRS
    assert not find_occupancy(limits, threads=256, registers=513, shared=0).blocks
    occupancy = find_occupancy(limits, threads=256, registers=65, shared=0)
    assert (occupancy.bound_by, occupancy.most_warps) == (("VGPRs",), 32)


def test_sgprs_threads_and_lds_limit_the_waves_of_an_amd_gpu() -> None:
    limits = read_limits(read_spec("mi300x"))
    # LLVM's `getOccupancyWithNumSGPRs`: up to 100 SGPRs allow eight waves, and more allow seven.
    few, many = (find_occupancy(limits, threads=64, registers=8, shared=0, scalar=number) for number in (100, 102))
    assert (few.warps, many.warps, many.bound_by) == (32, 28, ("SGPRs",))
    # A compute unit has room for 32 waves.
    blocks = [find_occupancy(limits, threads=threads, registers=8, shared=0).blocks for threads in (64, 65, 128)]
    assert blocks == [32, 16, 16]
    of_lds = {
        (target, size): find_occupancy(read_limits(read_spec(target)), threads=64, registers=8, shared=size).blocks
        for target, size in product(("mi300x", "mi350x"), (8192, 8193, 65536, 65537, 163840))
    }
    # The LDS of 64 KiB is allocated in units of 512 bytes, and that of 160 KiB in units of 1,280 bytes.
    assert of_lds == {
        ("mi300x", 8192): 8, ("mi300x", 8193): 7, ("mi300x", 65536): 1, ("mi300x", 65537): 0, ("mi300x", 163840): 0,
        ("mi350x", 8192): 18, ("mi350x", 8193): 18, ("mi350x", 65536): 2, ("mi350x", 65537): 2, ("mi350x", 163840): 1,
    }  # fmt: skip
