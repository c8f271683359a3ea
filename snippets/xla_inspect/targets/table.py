"""The one table of targets: what each is called, of which kind it is, how many devices are which grid, and its peaks.

The entries stand in table.toml, the figures of GPUs beside it in gpu_specs.
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
    """What one chip does at most, as its maker publishes it.

    Attributes:
        source: Where that stands, a link.
        devices: How many devices JAX sees in one chip.
        bandwidth: Bytes a second of main memory.
        matrix: Operations a second of the matrix units by element type.
        memory: Bytes of main memory that one device has for a program, which its compiler says and not its maker.
    """

    source: str
    devices: int
    memory: float
    bandwidth: float
    matrix: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the table says of a target.

    Attributes:
        name: The short name, such as `tpu-v5e`.
        title: What a page calls it.
        kind: `cpu`, `gpu` or `tpu`.
        maker: Who makes it, or an empty string.
        device: What one device of it is called.
        grids: Number of devices, as a string -> the grid that a TPU has of them; the first is the target's own.
        chip: What a TPU's topology is told besides.
        peaks: What a chip does at most; None where figures of the device say it, or nothing can.
        is_local: Whether it is a device of this machine, and no target that programs are compiled for without one.
        has_tiling_model: Whether XLA's cost model can choose the tiles of its matmuls without the device.
    """

    name: str
    title: str
    kind: str
    maker: str = ""
    device: str = ""
    grids: Mapping[str, str] = field(default_factory=dict)
    chip: Mapping[str, str] = field(default_factory=dict)
    peaks: Peaks | None = None
    is_local: bool = False
    has_tiling_model: bool = False

    @property
    def model(self) -> str:
        """The title without the maker's name."""
        return self.title.removeprefix(f"{self.maker} ")

    @property
    def topology(self) -> str:
        """The devices of the target itself: a TPU's grid, a GPU's count, and nothing for a CPU."""
        return next(iter(self.grids.values()), "1" if self.kind == "gpu" else "")

    def find_topology(self, devices: int) -> str:
        """Return what so many devices of the target are: a TPU's grid, else their count.

        Raises:
            InspectError: The table has no grid of so many.
        """
        if self.kind == "tpu" and str(devices) not in self.grids:
            message = f"the table of targets has no grid of {devices} devices for {self.name}, only of"
            message += f" {' and '.join(self.grids)}; one can be asked for, as in {self.name}:{self.topology}"
            raise InspectError(message)
        return self.grids.get(str(devices), str(devices))


def _read(name: str, entry: dict[str, Any]) -> Entry:
    peaks = entry.pop("peaks", None)
    plain = {"device": entry["title"], "is_local": entry.pop("local", False), **entry}
    return Entry(name, **plain, peaks=Peaks(**peaks) if peaks else None)


ENTRIES: Mapping[str, Entry] = {
    name: _read(name, entry)
    for name, entry in tomllib.loads((_FOLDER / "table.toml").read_text(encoding="utf-8")).items()
}
"""Short name -> what the table says of the target."""

TARGETS = tuple(name for name, entry in ENTRIES.items() if not entry.is_local)
"""The short names of the targets that programs are compiled for with no accelerator present."""

USUAL = ("cpu", "h100", "tpu-v5e")
"""The targets of a question that names none."""

FAMILIES = tuple(
    tuple(name for name in TARGETS if ENTRIES[name].maker == maker)
    for maker in dict.fromkeys(ENTRIES[name].maker for name in TARGETS)
    if maker
)
"""Short names of the targets of one maker, the oldest first."""


def find_entry(target: str, among: Collection[str] = ENTRIES) -> Entry:
    """Return what the table says of a target, whose short name may carry a topology.

    Of hardware that only dumps name, such as `sm_75`, `gfx90a` and `tpu-v3`, it is what its name says, and no figures.

    Raises:
        InspectError: There is no such target; the message lists those that there are.
    """
    base = target.partition(":")[0]
    if base not in among and among is ENTRIES and (other := _describe_other(base)):
        return other
    if base not in among:
        near = list_nearest(base, TARGETS, likeness=0.85)
        meant = f"did you mean {near[0]!r}? The" if near else "the"
        message = f"no target is named {target!r}; {meant} targets are {', '.join(TARGETS)}"
        raise InspectError(message)
    return ENTRIES[base]


def _describe_other(base: str) -> Entry | None:
    """Return what a name says of hardware that nothing is compiled for here, or None where it says nothing."""
    for form, kind, maker, title in _OTHERS:
        if re.fullmatch(form, base):
            called = title.format(base=base, tpu=base.replace("tpu", "TPU").replace("-", " "))
            return Entry(base, called, kind, maker, called, is_local=True)
    return None


_OTHERS = (
    (r"sm_\d+[a-z]*", "gpu", "NVIDIA", "NVIDIA GPU ({base})"),
    (r"gfx\w+", "gpu", "AMD", "AMD GPU ({base})"),
    (r"tpu(?:-v2|-v3|-v4i)?", "tpu", "Google", "{tpu}"),
    ("unknown", "unknown", "", "unknown hardware"),
)


def place(target: str, devices: int) -> str:
    """Return a target of so many devices, with its topology where they are more than one.

    Raises:
        InspectError: There is no such target, or the table has no grid of so many for it.
    """
    return target if devices == 1 else f"{target}:{find_entry(target).find_topology(devices)}"


def read_spec(target: str) -> str:
    """Return the figures of a GPU in the text form that the compiler takes (`GpuTargetConfigProto`).

    They are XLA's own, as the pinned plugin embeds them (xla/backends/gpu/target_config/specs, Apache-2.0).

    Raises:
        InspectError: There is no file of them.
    """
    path = _FOLDER / "gpu_specs" / f"{find_entry(target).name}.txtpb"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"no figures of {target}: they belong into {path.relative_to(_FOLDER.parents[1]).as_posix()}"
        raise InspectError(message) from error
