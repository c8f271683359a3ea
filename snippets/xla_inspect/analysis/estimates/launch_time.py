"""The estimated time of one launch, by the compiler's own figures where they are good, and by peak rates elsewhere.

The rules that exclude a compiler's figure, with their sources:

- A TPU's `estimated_cycles` of a fusion without a product are up to four times the time that its traffic needs, as
  `cost_analysis()["optimal_seconds"]` of the same module shows. So they count with a factor, and for products as such.
- A GPU's `sol` interpolates in a table of measured products (xla/service/gpu/model/matmul_interpolator.cc), and is
  wrong far from its entries: 79 µs for 512 x 512 x 512, for which an H100 needs 5.5 µs, and seven times the measured
  time for batches of small products. For Triton's softmax it is 0.01 µs. So it counts for large products near the time
  of their tiles.
- A GPU's nameless model counts an element of a Triton fusion again for each use: hours for a softmax. It never counts.
- `indexing-cost-model` knows Triton's tiles. It is twice the measured time of products, so it counts for the others.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis import MEMORY, walk_inside
from xla_inspect.analysis.estimates.compiler_figures import SOL
from xla_inspect.analysis.estimates.estimate import Estimate
from xla_inspect.analysis.estimates.model_flops import estimate_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import Launched
    from xla_inspect.analysis.estimates.compiler_figures import CompilerFigures
    from xla_inspect.analysis.estimates.device_rates import DeviceRates
    from xla_inspect.hlo import Instruction, Module, Shape

BANDWIDTH = {"gpu": (0.97, 0.90, 0.70), "tpu": (0.97, 0.88, 0.65), "cpu": (1.2, 0.9, 0.5)}
"""The share of the peak bandwidth that kernels reach, at best, usually and at worst.

An H100 reaches 0.82 to 0.92 for additions, sums, transposes and softmax of 16 to 256 MiB (docs/data/kernel-times.json).
"""

PRODUCT_SHARES = {"tpu": (0.97, 0.88, 0.65), "cpu": (1.1, 0.9, 0.5)}
"""The share of the peak rate that products reach, where neither tiles nor the compiler's cycles say more."""

TILES = ((128, 256, 0.82), (128, 128, 0.75), (64, 128, 0.5), (64, 64, 0.3))
"""The tiles of a GPU's matmuls, and the share of a tensor core's peak that each reaches on an H100."""

LONG = 2**16
"""The elements of the smallest array whose rows matter for the time of a product."""

SPLIT = 1024
"""The least number of products that one multiprocessor adds up if several share the sum of a result."""

FAR = 2.5
"""The factor from the time of tiles beyond which `sol` does not count."""

LARGE = 2 * 1024**3
"""The operations of the smallest product for which `sol` counts."""

HUGE = 1e11
"""The operations of a product from which a TPU's cycles are too many: by 1.28 for 8192 x 8192 x 8192 on a v6e."""

HUGE_SHARE = 0.93
"""The share of a TPU's peak rate with whose time the cycles of such a product are averaged."""

WORST_CYCLES = 4.0
USUAL_CYCLES = 3.0
"""The factors by which a TPU's cycles of a fusion without a product exceed its time, at worst and usually."""

CALLS = {"gpu": (0.65, 0.41, 0.28), "tpu": (0.75, 0.5, 0.3), "cpu": (1.0, 0.5, 0.25)}
"""The share of the matrix units' peak that hand-written kernels reach, such as attention.

Triton's attention reaches 0.36 to 0.41 on an H100 (arXiv 2407.08608, figure 5).
"""

UNALIGNED = 2.0
"""The factor for a product with rows that are no multiple of 16 bytes, which tensor cores cannot load as a whole.

On an H100, it is 1.6 to 4.3 times the time at the peak rate for the three products of a vocabulary of 50,257.
"""

CONVOLUTION = 1.18
"""The factor for a convolution of cuDNN: 1.16 to 1.19 for the longest ones of a U-Net on an H100."""

FEW_CHANNELS = 8.0
"""The factor for a convolution of fewer than eight channels: 7 and 11 for the first one of a ResNet-50 on an H100."""

SCATTER = 3.0
"""The factor from the time of a scatter's traffic to that of its atomic additions on a GPU."""

STRIDED = 3.0
"""The factor for arrays that a GPU reads or writes with gaps, and for the conditions on each element.

An H100 needs 1.2 to 20 times the time of the traffic, and 4 times on average, for the kernels of an associative scan
(docs/data/step-times.json).
"""


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """The estimated time of one run of a launch.

    Attributes:
        seconds: The time with its range, including that of a launch without any work.
        limit: The resource that determines the time: `compute`, `memory`, `vector units`, `launch` or `unknown`.
        kind: `matmuls`, `custom calls`, `vector work` or `memory-bound`.
        methods: The seconds of each method that was considered, by its name.
    """

    seconds: Estimate
    limit: str
    kind: str
    methods: Mapping[str, float]


def time_launch(launched: Launched, module: Module, rates: DeviceRates, figures: CompilerFigures) -> LaunchTime:
    """Return the estimated time of one run of a launch that is no collective."""
    work = _Work(launched, module, rates, figures)
    seconds, limit = work.estimate()
    if limit == "compute":
        seconds *= rates.load
    total = (seconds + rates.floor) * rates.doubt
    if limit != "unknown" and rates.floor.likely > seconds.likely:
        limit = "launch"
    other = "vector work" if limit == "vector units" else "memory-bound"
    kind = "custom calls" if launched.work.unknown else "matmuls" if work.product_seconds else other
    return LaunchTime(total, limit, kind, work.methods)


class _Work:
    """The methods that estimate the time of one launch."""

    def __init__(self, launched: Launched, module: Module, rates: DeviceRates, figures: CompilerFigures) -> None:
        self.launched, self.module, self.rates = launched, module, rates
        instruction = launched.launch.instruction
        self.flops: float = launched.work.products.total()
        # Products of types that share a unit are computed one after the other.
        roofs = [(rates.hardware.find_product(kind), number) for kind, number in launched.work.products.items()]
        self.product_seconds = sum(number / roof.rate for roof, number in roofs if roof)
        if launched.work.unknown:
            self.flops = estimate_call(module, instruction, is_masked=figures.has_mask)
            roof = rates.hardware.find_product("bf16")
            self.product_seconds = self.flops / roof.rate if roof else 0.0
        self.memory_seconds = launched.bytes / rates.hardware.bandwidth
        cycles = figures.cycles.get(instruction.name)
        self.cycle_seconds = cycles / rates.clock if cycles and rates.clock else None
        self.models = figures.models.get(instruction.name, {})
        self.methods = {"peak rates": max(self.product_seconds, self.memory_seconds)}

    def estimate(self) -> tuple[Estimate, str]:
        """Return the time without that of an empty launch, and its limit."""
        memory = Estimate.at_shares(self.memory_seconds, BANDWIDTH[self.rates.kind])
        # A small array may still be in a GPU's cache, so its lowest time is that of a faster memory.
        memory = replace(memory, low=memory.low / 2) if self.launched.bytes < self.rates.cache / 2 else memory
        if self.launched.work.unknown:
            return self._time_call(memory)
        self.methods["memory bandwidth"] = memory.likely
        if self.product_seconds:
            limit = "compute" if self.product_seconds >= self.memory_seconds else MEMORY
            return self._time_product(memory), limit
        return self._time_vector(memory) if self.rates.kind == "tpu" else self._time_other(memory)

    def _time_call(self, memory: Estimate) -> tuple[Estimate, str]:
        compute = Estimate.at_shares(self.product_seconds, CALLS[self.rates.kind])
        if self.flops:
            return compute.longer(memory), "compute" if compute.likely >= memory.likely else MEMORY
        # Nothing but the traffic is known, so the call may take any longer time.
        return Estimate(memory.low, 1.5 * memory.likely, 3 * memory.low, is_least=True), "unknown"

    def _time_product(self, memory: Estimate) -> Estimate:
        if self.rates.kind == "gpu":
            return self._time_gpu_product().longer(memory) * self._find_penalty()
        bound = self.product_seconds
        if self.cycle_seconds is None:
            return Estimate.at_shares(bound, PRODUCT_SHARES[self.rates.kind]).longer(memory)
        self.methods["estimated_cycles"] = self.cycle_seconds
        cycles = max(self.cycle_seconds, bound)
        # Cycles include the start of each window, which large products hide.
        likely = math.sqrt(cycles * bound / HUGE_SHARE) if self.flops > HUGE else cycles
        compute = Estimate(bound, max(likely, bound), 1.15 * cycles)
        if self.memory_seconds < bound:
            return compute.longer(memory)
        # The cycles of a product with much traffic have the same excess as those of a fusion without a product.
        between = math.sqrt(memory.likely * max(self.cycle_seconds, memory.likely))
        return Estimate(memory.low, between, max(self.cycle_seconds, memory.likely))

    def _find_penalty(self) -> float:
        """Return the factor for a library's convolution, and for rows that tensor cores cannot load as a whole."""
        instruction = self.launched.launch.instruction
        is_convolution = instruction.opcode == "custom-call" and "conv" in (instruction.custom_call_target or "")
        shapes = [*self.module.operands(instruction), instruction]
        arrays = [leaf for value in shapes for leaf in value.shape.leaves() if leaf.rank > 1 and leaf.size > LONG]
        if all(_measure_row(leaf) % 16 == 0 for leaf in arrays):
            return CONVOLUTION if is_convolution else 1.0
        return FEW_CHANNELS if is_convolution else UNALIGNED

    def _time_gpu_product(self) -> Estimate:
        tiles = self._time_tiles()
        self.methods["tiles"] = tiles
        sol = self.models.get(SOL, 0.0)
        is_large = self.flops >= LARGE
        if is_large and self.product_seconds <= sol <= FAR * tiles:
            self.methods[SOL] = sol
            likely = math.sqrt(sol * tiles)
            return Estimate(max(self.product_seconds, 0.9 * min(sol, tiles)), likely, 1.15 * max(sol, tiles))
        spread = 1.25 if is_large else 1.6
        return Estimate(max(self.product_seconds, tiles / spread), tiles, tiles * spread)

    def _time_tiles(self) -> float:
        """Return the time of the best size of tiles, which the multiprocessors compute in waves of one tile each."""
        results = max(sum(leaf.size for leaf in self.launched.launch.instruction.shape.leaves()[:1]), 1)
        inner = self.flops / 2 / results
        # All products of a launch together have this many multiplications and additions for each result.
        seconds_per_result = self.product_seconds / results * self.rates.cores
        times = []
        for rows, columns, share in TILES:
            tiles = math.ceil(results / (rows * columns))
            # The long sums of few results are split among the multiprocessors that would have no tile.
            parts = max(1, min(self.rates.cores // tiles, int(inner / SPLIT)))
            waves = math.ceil(tiles * parts / self.rates.cores)
            times.append(waves * rows * columns * seconds_per_result / share / parts)
        return min(times)

    def _time_other(self, memory: Estimate) -> tuple[Estimate, str]:
        work, hardware = self.launched.work, self.rates.hardware
        roofs = [(hardware.find_other(kind), number) for kind, number in work.others.items()]
        roof = hardware.find_other("f32")
        # A GPU has one unit for exp and similar functions for each eight that add.
        special = 8 * work.transcendentals / roof.rate if roof else 0.0
        vector = sum(number / roof.rate for roof, number in roofs if roof) + special
        units = Estimate.at_shares(vector, (1.0, 0.6, 0.3))
        seconds = memory.longer(units)
        indexing = self.models.get("indexing-cost-model", 0.0)
        # The model of Triton's tiles counts only between the peak rates and an absurd time.
        if seconds.low < indexing < 2 * seconds.likely:
            self.methods["indexing-cost-model"] = indexing
            seconds = Estimate(seconds.low, max(seconds.likely, indexing), max(seconds.high, 1.3 * indexing))
        inside = list(walk_inside(self.module, self.launched.launch.instruction))
        has_scatter = any(inner.opcode in {"scatter", "select-and-scatter"} for inner in inside)
        factor = SCATTER if has_scatter else STRIDED if any(map(_has_gaps, inside)) else 1.0
        limit = "vector units" if units.likely > memory.likely else MEMORY
        return Estimate(seconds.low, factor * seconds.likely, factor * seconds.high), limit

    def _time_vector(self, memory: Estimate) -> tuple[Estimate, str]:
        if self.cycle_seconds is None:
            return memory, MEMORY
        self.methods["estimated_cycles"] = self.cycle_seconds
        least, usual = self.cycle_seconds / WORST_CYCLES, self.cycle_seconds / USUAL_CYCLES
        likely = max(memory.likely, usual)
        high = min(max(likely, self.cycle_seconds), max(1.7 * likely, memory.high))
        # The vector units and main memory work at the same time.
        return Estimate(max(memory.low, least), likely, high), "vector units" if usual > memory.likely else MEMORY


def _has_gaps(instruction: Instruction) -> bool:
    """Return True for a slice with a stride, and padding between elements, along the axis of neighbors in memory.

    Gaps along another axis leave whole rows, which take the time of their bytes.
    """
    minor = _find_minor(instruction.shape)
    if instruction.opcode == "slice":
        return re.search(r":.*:(?!1\])", instruction.attributes.get("slice", "").split(",")[minor]) is not None
    if instruction.opcode == "pad":
        return re.search(r"_.*_[1-9]", instruction.attributes.get("padding", "").split("x")[minor]) is not None
    return False


def _find_minor(shape: Shape) -> int:
    """Return the axis whose elements are next to each other."""
    return shape.layout.minor_to_major[0] if shape.layout and shape.layout.minor_to_major else -1


def _measure_row(shape: Shape) -> int:
    """Return the bytes of a row of an array along the axis whose elements are next to each other."""
    return shape.bytes // shape.size * shape.dimensions[_find_minor(shape)]
