"""What the hardware of a target can do at most: bytes a second, and operations a second by element type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from xla_inspect.targets.labels import lane, title
from xla_inspect.targets.table import find_entry, read_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

MULTIPLY_ADD = 2
"""Operations of a multiplication that adds, as makers count them."""

SPEC = "https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs"
"""Where the device descriptions of GPUs come from."""

# Element types by their number in xla/xla_data.proto, `PrimitiveType`: the keys of a device description's rates.
_TYPES = {
    2: "s8", 4: "s32", 6: "u8", 8: "u32", 10: "f16", 11: "f32", 12: "f64", 16: "bf16", 19: "f8e5m2", 20: "f8e4m3fn",
    23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 28: "f8e4m3", 29: "f8e3m4", 32: "f4e2m1fn",
}  # fmt: skip
_RATE = re.compile(
    r"key: (?P<key>\d+)\s+value \{\s+clock_rate_ghz: (?P<clock>[\d.]+)\s+"
    r"units_per_core: (?P<units>\d+)\s+ops_per_clock: (?P<ops>\d+)"
)

# A TPU multiplies bfloat16, and a float32 product takes several such products:
# https://docs.jax.dev/en/latest/jax.lax.html#jax.lax.DotAlgorithmPreset (BF16_BF16_F32, _X3 and _X6).
_PASSES = {"f32": 1, "f32 high": 3, "f32 highest": 6}


@dataclass(frozen=True, slots=True)
class Roof:
    """What a unit of the hardware does at most.

    Attributes:
        name: What a reader knows it by, such as `TF32 tensor cores`.
        rate: Operations a second.
    """

    name: str
    rate: float


@dataclass(frozen=True, slots=True)
class Hardware:
    """What one device of a target does at most, as its maker publishes it.

    Attributes:
        target: The target's short name.
        bandwidth: Bytes a second of main memory.
        matrix: Operations a second of the matrix units (tensor cores, MXU) by element type.
        vector: Operations a second of the ordinary units by element type; empty where none is published.
        source: Where the figures come from, a link.
        devices: How many devices JAX sees in one chip; the figures are those of one device.
        memory: Bytes of main memory that a program can have: of a TPU what its compiler says is there.
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
        """What is not published and so left out of the model, in one sentence, or an empty string."""
        if self.vector:
            return ""
        return "Of the vector units no peak is published, so what only they compute takes no time in this model."

    def find_product(self, kind: str) -> Roof | None:
        """Return the roof of products and convolutions of an element type, or None where none is published.

        Args:
            kind: A key of `Work.products`: an element type and the precision asked for.
        """
        dtype = kind.partition(" ")[0]
        if lane(self.target) == "tpu":
            passes = _PASSES.get(kind, 1)
            rate = self.matrix.get("bf16" if kind in _PASSES or dtype == "f16" else dtype)
            unit = f"{'bf16' if kind in _PASSES else dtype} matrix units"
            return Roof(f"{unit}, {passes} passes" if passes > 1 else unit, rate / passes) if rate else None
        if kind == "f32 highest" or dtype not in self.matrix:
            return self.find_other(dtype)
        # In float32 the tensor cores read TF32.
        return Roof(f"{'TF32' if dtype == 'f32' else dtype} tensor cores", self.matrix[dtype])

    def find_other(self, dtype: str) -> Roof | None:
        """Return the roof of all other operations on an element type, or None where none is published."""
        # What has no rate of its own, such as booleans and bytes, is computed in 32-bit integers.
        named = dtype if dtype in self.vector else "s32"
        return Roof(f"{named} CUDA cores", self.vector[named]) if self.vector else None


def find_hardware(target: str) -> Hardware | None:
    """Return what the hardware of a target does at most, or None for a CPU, whose figures depend on which it is.

    Args:
        target: A short name, with or without a topology.
    """
    return _find_hardware(target.partition(":")[0])


def explain_absence(target: str) -> str:
    """Return why a target has no roofline, in one sentence."""
    if lane(target) != "cpu":
        return f"The {title(target.partition(':')[0])} has no roofline: the table of targets has no figures of it."
    return (
        f"The {title(target.partition(':')[0])} has no roofline: the target is any processor with these instructions, "
        "and the number of its cores, their clock and the speed of its memory differ from one to the next."
    )


@cache
def _find_hardware(base: str) -> Hardware | None:
    entry = find_entry(base)
    if entry.kind == "gpu" and not entry.is_local:
        return read_description(base, read_spec(base))
    peaks = entry.peaks
    if peaks is None:
        return None
    rates = {dtype: rate / peaks.devices for dtype, rate in peaks.matrix.items()}
    return Hardware(base, peaks.bandwidth / peaks.devices, rates, {}, peaks.source, peaks.devices, int(peaks.memory))


def read_description(base: str, text: str) -> Hardware:
    """Return what a device description of XLA says (`GpuTargetConfigProto` in text form).

    Args:
        base: The target's short name.
        text: The description: a rate is units of a core times operations of a unit and clock tick, times the clock.
    """
    cores = int(_find_number("core_count", text))
    memory = int(_find_number("device_memory_size", text))

    def read(unit: str) -> dict[str, float]:
        start = text.find(f"{unit}_unit_description")
        if start < 0:
            return {}
        block = text[start : text.index("\n  }\n", start)]
        rates = (rate for rate in _RATE.finditer(block) if int(rate["key"]) in _TYPES)
        return {_TYPES[int(rate["key"])]: cores * _read_rate(rate) for rate in rates}

    return Hardware(base, _find_number("memory_bandwidth", text), read("matrix"), read("scalar"), SPEC, 1, memory)


def _read_rate(match: re.Match[str]) -> float:
    """Return the operations a second of one core."""
    return MULTIPLY_ADD * int(match["units"]) * int(match["ops"]) * float(match["clock"]) * 1e9


def _find_number(name: str, text: str) -> float:
    match = re.search(rf"^  {name}: ([\d.]+)$", text, re.MULTILINE)
    if match is None:
        message = f"the device description has no field {name!r}"
        raise ValueError(message)
    return float(match[1])
