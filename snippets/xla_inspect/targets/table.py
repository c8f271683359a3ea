"""The table of targets: their names, kinds, grids of devices and peak rates.

The entries are in table.toml, and the descriptions of GPUs are in the folder gpu_specs.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Peaks:
    """The published peak rates of one chip.

    Attributes:
        source: The address of the page with the figures.
        devices: The number of JAX devices in one chip.
        matrix: Operations per second of the matrix units by element type.
        bandwidth: Bytes per second of main memory; 0 for a GPU, whose description has it.
        memory: Bytes of main memory available to a program on one device, as the compiler reports them; 0 for a GPU.
        vector: Operations per second of the ordinary units by element type; empty if no figure is published.
    """

    source: str
    devices: int
    matrix: Mapping[str, float]
    bandwidth: float = 0.0
    memory: float = 0.0
    vector: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a target in the table.

    Attributes:
        name: The short name, such as `tpu-v5e`.
        title: The name on pages.
        kind: `cpu`, `gpu` or `tpu`.
        platform: JAX's name of the platform: `cpu`, `cuda`, `rocm` or `tpu`.
        maker: The vendor, or an empty string.
        device: The name of one device.
        grids: For a TPU, the grid for each number of devices (as a string); the first is the default.
        chip: Further arguments of a TPU's topology.
        peaks: The peak rates of a chip, or None if they come from a device description or do not exist.
        is_local: Whether the entry is the device of the current machine, which must be present to compile for it.
        has_tiling_model: Whether XLA's cost model can choose the tiles of matmuls without the device.
        rates: Further figures for estimates of time, by name.
    """

    name: str
    title: str
    kind: str
    platform: str
    maker: str = ""
    device: str = ""
    grids: Mapping[str, str] = field(default_factory=dict)
    chip: Mapping[str, str] = field(default_factory=dict)
    peaks: Peaks | None = None
    is_local: bool = False
    has_tiling_model: bool = False
    rates: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The title without the vendor's name."""
        return self.title.removeprefix(f"{self.maker} ")

    @property
    def topology(self) -> str:
        """The default topology: a grid for a TPU, a count for a GPU, and an empty string for a CPU."""
        return next(iter(self.grids.values()), "1" if self.kind == "gpu" else "")

    def find_topology(self, devices: int) -> str:
        """Return the topology of a number of devices: a grid for a TPU, otherwise the count.

        Raises:
            InspectError: The table has no grid with this number of devices.
        """
        if self.kind == "tpu" and str(devices) not in self.grids:
            message = f"the table of targets has no grid of {devices} devices for {self.name}, only grids of"
            message += f" {' and '.join(self.grids)}; give a grid after a colon, as in {self.name}:{self.topology}"
            raise InspectError(message)
        return self.grids.get(str(devices), str(devices))


def _read(name: str, entry: dict[str, Any]) -> Entry:
    peaks = entry.pop("peaks", None)
    # For most targets the title already names one device, so the table states a device only if it differs.
    platform = "cuda" if entry["kind"] == "gpu" else entry["kind"]
    plain = {"platform": platform, "device": entry["title"], "is_local": entry.pop("local", False), **entry}
    return Entry(name, **plain, peaks=Peaks(**peaks) if peaks else None)


ENTRIES: Mapping[str, Entry] = {
    name: _read(name, entry)
    for name, entry in tomllib.loads((_FOLDER / "table.toml").read_text(encoding="utf-8")).items()
}
"""The entries of the table by the target's short name."""

TARGETS = tuple(name for name, entry in ENTRIES.items() if not entry.is_local)
"""The short names of the targets that need no device of their own for compilation."""

USUAL = ("cpu", "h100", "tpu-v5e")
"""The default targets of a question."""

FAMILIES = tuple(
    tuple(name for name in TARGETS if ENTRIES[name].maker == maker)
    for maker in dict.fromkeys(ENTRIES[name].maker for name in TARGETS)
    if maker
)
"""The short names of the targets of each vendor, the oldest first."""


def find_entry(target: str, among: Collection[str] = ENTRIES) -> Entry:
    """Return the entry of a target, whose short name may include a topology.

    For hardware that occurs only in dumps, such as `sm_75`, `gfx90a` and `tpu-v3`, the entry has only names, kind and
    vendor. It is returned only without `among`.

    Args:
        target: The short name.
        among: The short names that are allowed, by default all of the table.

    Raises:
        InspectError: There is no such target; the message lists all of `TARGETS`.
    """
    base = target.partition(":")[0]
    # Hardware from dumps cannot be compiled for, so it is accepted only where all entries are, and not among targets.
    if base not in among and among is ENTRIES and (other := _describe_other(base)):
        return other
    if base not in among:
        # Names of targets are short and alike, so only a very similar name is suggested.
        near = list_nearest(base, TARGETS, likeness=0.85)
        hint = f"did you mean {near[0]!r}? The" if near else "the"
        message = f"no target is named {target!r}; {hint} targets are {', '.join(TARGETS)}"
        raise InspectError(message)
    return ENTRIES[base]


def _describe_other(base: str) -> Entry | None:
    """Return an entry for hardware that occurs only in dumps, by the form of its name, or None for another name."""
    for form, kind, platform, maker, title in _OTHERS:
        if re.fullmatch(form, base):
            full_title = title.format(base=base, tpu=base.replace("tpu", "TPU").replace("-", " "))
            return Entry(base, full_title, kind, platform, maker, full_title, is_local=True)
    return None


_OTHERS = (
    (r"sm_\d+[a-z]*", "gpu", "cuda", "NVIDIA", "NVIDIA GPU ({base})"),
    (r"gfx\w+", "gpu", "rocm", "AMD", "AMD GPU ({base})"),
    (r"tpu(?:-v2|-v3|-v4i)?", "tpu", "tpu", "Google", "{tpu}"),
    ("unknown", "unknown", "unknown", "", "unknown hardware"),
)


def place(target: str, devices: int) -> str:
    """Return the name of a target with a number of devices, including the topology if there is more than one.

    Raises:
        InspectError: There is no such target, or the table has no grid with this number of devices.
    """
    return target if devices == 1 else f"{target}:{find_entry(target).find_topology(devices)}"


def read_spec(target: str) -> str:
    """Return the description of a GPU in the text form that the compiler reads (`GpuTargetConfigProto`).

    The descriptions are those embedded in the pinned plugin of its platform (xla/backends/gpu/target_config/specs,
    Apache-2.0).

    Raises:
        InspectError: There is no description of the GPU.
    """
    path = _FOLDER / "gpu_specs" / f"{find_entry(target).name}.txtpb"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"no figures of {target}: add them to {path.relative_to(_FOLDER.parents[1]).as_posix()}"
        raise InspectError(message) from error
