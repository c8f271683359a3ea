"""The peak rates of a target's hardware: bytes per second, and operations per second by element type."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from xla_inspect.targets.labels import lane, title
from xla_inspect.targets.platforms import find_terms
from xla_inspect.targets.table import find_entry, read_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

MULTIPLY_ADD = 2
"""The operations of one fused multiply-add, as vendors count them."""

SPEC = "https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs"
"""The source of the device descriptions of GPUs."""

# Element types by their number in xla/xla_data.proto, `PrimitiveType`: the keys of a device description's rates.
_TYPES = {
    2: "s8", 4: "s32", 6: "u8", 8: "u32", 10: "f16", 11: "f32", 12: "f64", 16: "bf16", 19: "f8e5m2", 20: "f8e4m3fn",
    23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 28: "f8e4m3", 29: "f8e3m4", 32: "f4e2m1fn",
}  # fmt: skip
_RATE = re.compile(
    r"key: (?P<key>\d+)\s+value \{\s+clock_rate_ghz: (?P<clock>[\d.]+)\s+"
    r"units_per_core: (?P<units>\d+)\s+ops_per_clock: (?P<ops>\d+)"
)

# The matrix units of a TPU multiply bfloat16 numbers, and a float32 product consists of several such products:
# https://docs.jax.dev/en/latest/jax.lax.html#jax.lax.DotAlgorithmPreset (BF16_BF16_F32, _X3 and _X6).
_PASSES = {"f32": 1, "f32 high": 3, "f32 highest": 6}


@dataclass(frozen=True, slots=True)
class Roof:
    """The peak rate of one kind of hardware unit.

    Attributes:
        name: The usual name of the unit, such as `TF32 tensor cores`.
        rate: Operations per second.
    """

    name: str
    rate: float


@dataclass(frozen=True, slots=True)
class Hardware:
    """The published peak rates of one device of a target.

    Attributes:
        target: The target's short name.
        bandwidth: Bytes per second of main memory.
        matrix: Operations per second of the matrix units (tensor cores, MXU) by element type.
        vector: Operations per second of the ordinary units by element type; empty if no figure is published.
        source: The address of the page with the figures.
        devices: The number of JAX devices in one chip; the figures are those of one device.
        memory: Bytes of main memory available to a program; for a TPU, as its compiler reports them.
    """

    target: str
    bandwidth: float
    matrix: Mapping[str, float]
    vector: Mapping[str, float]
    source: str
    devices: int
    memory: int

    @property
    def gap(self) -> str:
        """A sentence saying that no peak of the vector units is published, or an empty string if one is."""
        if self.vector:
            return ""
        return "No peak of the vector units is published, so this model counts no time for their work."

    def find_product(self, kind: str) -> Roof | None:
        """Return the roof for products and convolutions of an element type, or None if no figure is published.

        Args:
            kind: A key of `Work.products`: an element type and the requested precision.
        """
        dtype = kind.partition(" ")[0]
        if lane(self.target) == "tpu":
            passes = _PASSES.get(kind, 1)
            rate = self.matrix.get("bf16" if kind in _PASSES or dtype == "f16" else dtype)
            unit = f"{'bf16' if kind in _PASSES else dtype} matrix units"
            return Roof(f"{unit}, {passes} passes" if passes > 1 else unit, rate / passes) if rate else None
        if find_entry(self.target).platform == "rocm":
            return self._find_matrix_core(dtype, is_highest=kind == "f32 highest")
        # Tensor cores have no full float32 precision, so the highest precision is computed by the ordinary units.
        if kind == "f32 highest" or dtype not in self.matrix:
            return self.find_other(dtype)
        # Tensor cores read float32 operands as TF32.
        return Roof(f"{'TF32' if dtype == 'f32' else dtype} tensor cores", self.matrix[dtype])

    def _find_matrix_core(self, dtype: str, *, is_highest: bool) -> Roof | None:
        """Return the roof for products on an AMD GPU, by the instructions of the kernels that XLA generates."""
        # They read float32 operands as XF32 on a GPU that has it, and 8-bit floats that it lacks as float16.
        if dtype == "f32" and "xf32" in self.matrix and not is_highest:
            dtype = "xf32"
        if dtype.startswith("f8") and dtype not in self.matrix:
            dtype = "f16"
        unit = f"{dtype} {find_terms(self.target).matrix}"
        return Roof(unit, self.matrix[dtype]) if dtype in self.matrix else self.find_other(dtype)

    def find_other(self, dtype: str) -> Roof | None:
        """Return the roof for all other operations on an element type, or None if no figure is published."""
        # Types without a rate of their own, such as booleans and bytes, are computed as 32-bit integers. AMD publishes
        # no rate of these.
        unit = next((unit for unit in (dtype, "s32", "f32") if unit in self.vector), "")
        return Roof(f"{unit} {find_terms(self.target).vector}", self.vector[unit]) if unit else None


def find_hardware(target: str) -> Hardware | None:
    """Return the peak rates of a target's hardware, or None for a CPU and for hardware without rates in the table.

    Args:
        target: A short name, with or without a topology.
    """
    return _find_hardware(target.partition(":")[0])


def explain_absence(target: str) -> str:
    """Return a sentence that explains why a target has no roofline; call it only for such a target."""
    if lane(target) != "cpu":
        return f"The {title(target.partition(':')[0])} has no roofline: the table of targets lacks its peak rates."
    return (
        f"The {title(target.partition(':')[0])} has no roofline: the target is any processor with the instruction set, "
        "and such processors differ in the number of cores, the clock rate and the speed of memory."
    )


@cache
def _find_hardware(base: str) -> Hardware | None:
    entry = find_entry(base)
    # XLA's own description of the device is preferred, because its cost model uses the same numbers.
    if entry.kind == "gpu" and not entry.is_local:
        hardware = read_description(base, read_spec(base))
    elif entry.peaks is None:
        return None
    else:
        peaks = entry.peaks
        bandwidth = peaks.bandwidth / peaks.devices
        hardware = Hardware(base, bandwidth, {}, {}, peaks.source, peaks.devices, int(peaks.memory))
    if entry.peaks is None:
        return hardware
    # Vendors publish rates of a chip, but on some each chip has two cores or dies that JAX shows as separate devices.
    matrix, vector = (
        {dtype: rate / entry.peaks.devices for dtype, rate in rates.items()}
        for rates in (entry.peaks.matrix, entry.peaks.vector)
    )
    return replace(hardware, matrix=matrix, vector=vector, source=entry.peaks.source, devices=entry.peaks.devices)


def read_description(base: str, text: str) -> Hardware:
    """Return the peak rates in a device description of XLA (`GpuTargetConfigProto` in text form).

    Args:
        base: The target's short name.
        text: The description. A rate is the units per core times the operations per unit and clock cycle, times the
            clock rate, times the cores, times two operations for each multiply-add.

    Raises:
        ValueError: The description lacks the number of cores, the memory size or the bandwidth.
    """
    cores = int(_find_number("core_count", text))
    memory = int(_find_number("device_memory_size", text))

    def read(unit: str) -> dict[str, float]:
        start = text.find(f"{unit}_unit_description")
        if start < 0:
            return {}
        # The blocks of both units have the same fields, so the search for rates must end with the unit's own block.
        block = text[start : text.index("\n  }\n", start)]
        rates = (rate for rate in _RATE.finditer(block) if int(rate["key"]) in _TYPES)
        return {_TYPES[int(rate["key"])]: cores * _read_rate(rate) for rate in rates}

    return Hardware(base, _find_number("memory_bandwidth", text), read("matrix"), read("scalar"), SPEC, 1, memory)


def _read_rate(match: re.Match[str]) -> float:
    """Return the operations per second of one core, from one rate of a device description."""
    return MULTIPLY_ADD * int(match["units"]) * int(match["ops"]) * float(match["clock"]) * 1e9


def _find_number(name: str, text: str) -> float:
    # Two spaces are the indentation of a top-level field, which excludes fields of nested messages.
    match = re.search(rf"^  {name}: ([\d.]+)$", text, re.MULTILINE)
    if match is None:
        message = f"the device description has no field {name!r}"
        raise ValueError(message)
    return float(match[1])
