"""The rates of a device that estimates of time need: peaks, clock, links, and the cost of a launch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.analysis.estimates.compiler_figures import COLLECT
from xla_inspect.analysis.estimates.estimate import Estimate
from xla_inspect.targets import Hardware, find_entry, find_hardware, lane, read_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

GPU_FLOOR = Estimate(0.9e-6, 1.06e-6, 1.3e-6)
"""The time of a GPU kernel without any work, as measured on an H100 (docs/data/kernel-times.json)."""

GPU_GAP = Estimate(0.4e-6, 1.2e-6, 2.6e-6)
"""The time between two kernels of a GPU. Without CUDA graphs it is 3.3 µs (docs/data/step-times.json)."""

GPU_LOAD = Estimate(1.0, 1.1, 1.2)
"""The factor from the time of a GPU's product by itself to its time in a long step.

Under load, a GPU lowers its clock to stay below its power limit, and collectives use some of its multiprocessors. The
factor is that of the training steps in docs/data/published-times.toml that are not held out.
"""

AMD_DOUBT = Estimate(1.0, 1.0, 1.6)
"""The factor of a launch's time on an AMD GPU, for which the shares of the peak rates are those of an H100.

It was chosen with four published times of products of bfloat16 matrices on an MI300X, which therefore do not test it
(https://github.com/clarkechong/scale-your-amd, runs/20260805-matmul-autotune4).
"""


@dataclass(frozen=True)
class DeviceRates:
    """The rates of one device.

    Attributes:
        hardware: The published peaks, or the measured rates of a CPU.
        kind: `cpu`, `gpu` or `tpu`.
        cores: The number of a GPU's multiprocessors.
        cache: The bytes of a GPU's second-level cache.
        floor: The time of a launch without any work.
        gap: The time between two launches.
        load: The factor from the time of a product by itself to its time in a long step.
        doubt: The factor of each launch's time on a GPU whose launches nobody measured for this model.
        clock: Cycles per second of a TPU's core, or None if no figure is published.
        grid: The sizes of the axes of a TPU's grid of chips.
        link: Bytes per second of one link of a TPU in one direction.
        wrap: The number whose multiples, as the size of an axis of a TPU's grid, make the axis a ring.
        domain: The number of GPUs that NVLink or Infinity Fabric connects.
        fabric: Bytes per second that a GPU sends through NVLink or Infinity Fabric.
        network: Bytes per second that a GPU sends to other machines.
        sources: The addresses of the pages with these figures.
    """

    hardware: Hardware
    kind: str
    cores: int = 1
    cache: int = 0
    floor: Estimate = field(default_factory=Estimate)
    gap: Estimate = field(default_factory=Estimate)
    load: Estimate = field(default=Estimate(1.0, 1.0, 1.0))
    doubt: Estimate = field(default=Estimate(1.0, 1.0, 1.0))
    clock: float | None = None
    grid: tuple[int, ...] = ()
    link: float | None = None
    wrap: int = 1
    domain: int = 1
    fabric: float | None = None
    network: float | None = None
    sources: tuple[str, ...] = ()


def find_rates(target: str) -> DeviceRates | None:
    """Return the rates of a target with or without a topology, or None for a CPU and without published peaks."""
    hardware = find_hardware(target)
    if hardware is None:
        return None
    base, _, topology = target.partition(":")
    entry = find_entry(base)
    figures = {name: value for name, value in entry.rates.items() if name != "has_figures"}
    sources = (hardware.source, *figures.pop("source", ()))
    if lane(target) == "gpu":
        numbers = dict(re.findall(r"^  (\w+): (\d+)$", read_spec(base), re.MULTILINE))
        cores, cache = (int(numbers.get(name, 0)) for name in ("core_count", "l2_cache_size"))
        doubt = AMD_DOUBT if find_entry(base).platform == "rocm" else Estimate(1.0, 1.0, 1.0)
        own = {"doubt": doubt, "sources": sources, **figures}
        return DeviceRates(hardware, "gpu", cores, cache, GPU_FLOOR, GPU_GAP, GPU_LOAD, **own)
    grid = tuple(map(int, (topology or entry.topology).split("x")))
    return DeviceRates(hardware, "tpu", grid=grid, sources=sources, **figures)


def list_options(target: str) -> dict[str, bool]:
    """Return the options with which a target's compiler writes its estimates; a TPU's compiler needs none."""
    return {COLLECT: True} if find_entry(target).rates.get("has_figures") else {}


def make_cpu_rates(bandwidth: float, products: Mapping[str, float], elements: float, launch: float) -> DeviceRates:
    """Return the rates of a CPU from its bytes and operations per second, and the seconds of a program without work."""
    hardware = Hardware("cpu", bandwidth, products, {"f32": elements, "s32": elements}, "", 1, 0)
    return DeviceRates(hardware, "cpu", floor=Estimate(0.0, 0.2 * launch, launch))
