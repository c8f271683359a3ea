"""The stage of a compile that a module is from, and whether its shapes are global or those of one device."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.plural import plural

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module

type StageName = Literal["before the optimizations", "between passes", "optimized", "unknown", "none"]
"""The stages of a compile that a module may be from."""
type Shapes = Literal["of one device", "global", "unknown"]

_SCHEDULED = re.compile(r"^HloModule [^\n]*\bis_scheduled=true")
# The partitioner's own mark on the computations that it wrote.
_PARTITIONED = re.compile(r"^ENTRY %?[\w.-]+_spmd\b", re.MULTILINE)
_SHARDED = re.compile(
    r"[,{] ?sharding=\{|xla\.sdy\.sharding|"
    r'custom_call_target="(?:Sharding|SPMDFullToShardShape|SPMDShardToFullShape|xla\.sdy\.)'
)
_TILES = re.compile(r"\{devices=\[([\d,]+)\]")
_MESHES = (re.compile(r"\{mesh\[('[^\]]*)\]"), re.compile(r"#?sdy\.mesh<\[([^\]]*)\]"))
_AXIS_SIZE = re.compile(r"=(\d+)")


@dataclass(frozen=True)
class Stage:
    """The stage of a compile that a module is from.

    Attributes:
        name: The stage; `unknown` where nothing tells, `none` where a failed compile left no module.
        last_pass: The pass after which it was dumped, or an empty string.
        devices: How many devices the program is for, as far as the module shows.
        shapes: Whether its shapes are those of one device, or of the whole program before the partitioner cut it.
        has_launches: Whether its instructions are what is launched, as far as it shows.
    """

    name: StageName = "optimized"
    last_pass: str = ""
    devices: int = 1
    shapes: Shapes = "of one device"
    has_launches: bool = True

    @property
    def is_final(self) -> bool:
        """Return whether the compiler made code of this module."""
        return self.name == "optimized"

    @property
    def title(self) -> str:
        """The stage in words, to follow a program's name."""
        if self.name == "between passes" and self.last_pass:
            return f"between passes, after {self.last_pass}"
        return "at an unknown stage" if self.name == "unknown" else self.name

    def join(self, program: str) -> str:
        """Return a program's name with the stage, where that is not the last one."""
        return program if self.name in {"optimized", "none"} else f"{program} ({self.title})"

    def explain(self) -> str:
        """Explain the stage of the module, and the remaining steps of a compilation."""
        known = {
            "before the optimizations": "The module is the compiler's input",
            "between passes": "The module is from between two passes",
        }.get(self.name, "The stage of this module is not known: it is not scheduled")
        shapes = {
            "global": f"its shapes are global, and the partitioner has not yet split them for {self._spread}",
            "unknown": "it is not known if its shapes are global or those of one device",
            "of one device": "its shapes are those of one device" if self.devices > 1 else "",
        }[self.shapes]
        return f"{'; '.join(filter(None, (known, shapes)))}."

    @property
    def _spread(self) -> str:
        return plural(self.devices, "device") if self.devices > 1 else "its devices"


FINAL = Stage()
"""The stage of what a compile on one device came to."""


def read_stage(text: str, told: StageName | None) -> StageName:
    """Return the stage of a module by its text, and by its file's name where the text leaves it open.

    Args:
        text: The module's text.
        told: The stage that the file's name tells, or None.
    """
    if told == "between passes":
        return told
    if _SCHEDULED.match(text):
        return "optimized"
    if is_global(text):
        return "unknown" if told == "optimized" else "before the optimizations"
    return told or "unknown"


def is_global(text: str) -> bool:
    """Return whether a module's shapes are global for several devices, as its shardings show."""
    if _SCHEDULED.match(text) or _PARTITIONED.search(text):
        return False
    return bool(_SHARDED.search(text)) and count_spread(text) > 1


def count_spread(text: str) -> int:
    """Return over how many devices a module's shardings spread it, or 1 where it has none."""
    sizes = [math.prod(map(int, tiles.split(","))) for tiles in _TILES.findall(text)]
    sizes += [math.prod(map(int, _AXIS_SIZE.findall(axes))) for form in _MESHES for axes in form.findall(text)]
    return max(sizes, default=1)


def find_stage(capture: Capture) -> Stage:
    """Return the stage of the module that a capture has as its optimized one."""
    if not capture.after:
        return Stage("none", has_launches=False)
    module, told = capture.module, capture.missing.get("stage", "")
    if not told:
        return Stage(devices=module.num_partitions)
    name, _, last_pass = told.partition(": ")
    devices = max(module.num_partitions, 1 if module.is_scheduled else count_spread(capture.after))
    shapes: Shapes = "of one device"
    if is_global(capture.after) or (devices > 1 and name == "before the optimizations"):
        shapes = "global"
    elif devices > 1 and not (module.is_scheduled or _PARTITIONED.search(capture.after)):
        shapes = "unknown"
    launched = module.is_scheduled or (name == "unknown" and shapes != "global" and _has_fusions(module))
    return Stage(name, last_pass, devices, shapes, launched)  # type: ignore[arg-type]  # one of the names, as written


def _has_fusions(module: Module) -> bool:
    """Return whether a compiler decided kernels of a module: fusions, or calls of its libraries."""
    return any(
        instruction.opcode == "fusion" or "__cu" in (instruction.custom_call_target or "")
        for instruction in module.walk()
    )
