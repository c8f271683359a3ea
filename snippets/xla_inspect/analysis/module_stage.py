"""The stage of compilation that a module comes from, and whether its shapes are global or those of one device."""

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
"""The stages of compilation that a module may come from."""
type Shapes = Literal["of one device", "global", "unknown"]

_SCHEDULED = re.compile(r"^[ \t]*HloModule [^\n]*\bis_scheduled=true", re.MULTILINE)
# The partitioner adds this suffix to the names of the computations that it writes.
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
    """The stage of compilation that a module comes from, with its number of devices and the kind of its shapes.

    Attributes:
        name: The stage; `none` if a failed compilation left no module.
        last_pass: The pass after which the module was dumped, or an empty string.
        devices: The number of devices of the program; 1 if the module shows none.
        shapes: Whether the shapes are those of one device, those of the whole program before partitioning, or unknown.
        has_launches: Whether the compiler has already decided which instructions are launched.
    """

    name: StageName = "optimized"
    last_pass: str = ""
    devices: int = 1
    shapes: Shapes = "of one device"
    has_launches: bool = True

    @property
    def is_final(self) -> bool:
        """True if the module is the optimized one, from which the compiler generates code."""
        return self.name == "optimized"

    @property
    def title(self) -> str:
        """The stage in words that can follow a program's name."""
        if self.name == "between passes" and self.last_pass:
            return f"between passes, after {self.last_pass}"
        return "at an unknown stage" if self.name == "unknown" else self.name

    def join(self, program: str) -> str:
        """Return a program's name, followed by the stage in parentheses unless the module is optimized or missing."""
        return program if self.name in {"optimized", "none"} else f"{program} ({self.title})"

    def explain(self) -> str:
        """Return a sentence about the stage and the shapes of a module that is not known to be the optimized one."""
        words = {
            "before the optimizations": "The module is the compiler's input",
            "between passes": "The module is from between two passes",
            "none": "There is no module, but only a memory plan or a part of it",
        }.get(self.name, "The stage of this module is not known: it is not scheduled")
        shapes = {
            "global": f"its shapes are global, and the partitioner has not yet split them for {self._spread}",
            "unknown": "it is not known if its shapes are global or those of one device",
            "of one device": "its shapes are those of one device" if self.devices > 1 else "",
        }[self.shapes]
        return f"{'; '.join(filter(None, (words, shapes)))}."

    @property
    def _spread(self) -> str:
        return plural(self.devices, "device") if self.devices > 1 else "its devices"


FINAL = Stage()
"""The stage of an optimized module for one device."""


def read_stage(text: str, file_stage: StageName | None) -> StageName:
    """Return the stage of a module from its text, or from its file's name if that decides.

    The file's name decides if it says `between passes`, or if the text does not show the stage. A file name that says
    `optimized` for a module with global shapes gives `unknown`.

    Args:
        text: The module's text.
        file_stage: The stage according to the file's name, or None.
    """
    # A scheduled module may also be dumped between passes, so the name of the file takes precedence.
    if file_stage == "between passes":
        return file_stage
    if is_scheduled(text):
        return "optimized"
    if is_global(text):
        # Global shapes contradict a file name that says "optimized", so the stage is unknown.
        return "unknown" if file_stage == "optimized" else "before the optimizations"
    return file_stage or "unknown"


def is_scheduled(text: str) -> bool:
    """Return whether the header of a module says that it is scheduled; comments may be in front of the header."""
    return bool(_SCHEDULED.search(text))


def is_global(text: str) -> bool:
    """Return whether a module's shapes are global: its shardings use several devices and it is not partitioned yet."""
    if is_scheduled(text) or _PARTITIONED.search(text):
        return False
    return bool(_SHARDED.search(text)) and count_spread(text) > 1


def count_spread(text: str) -> int:
    """Return the largest number of devices in the shardings of a module's text, or 1 without shardings."""
    sizes = [math.prod(map(int, tiles.split(","))) for tiles in _TILES.findall(text)]
    sizes += [math.prod(map(int, _AXIS_SIZE.findall(axes))) for form in _MESHES for axes in form.findall(text)]
    return max(sizes, default=1)


def find_stage(capture: Capture) -> Stage:
    """Return the stage of a capture's module, normally `optimized`; `none` if the capture has no module."""
    if capture.is_plan or not capture.after:
        return Stage("none", has_launches=False)
    module, description = capture.module, capture.missing.get("stage", "")
    if not description:
        return Stage(devices=module.device_count)
    name, _, last_pass = description.partition(": ")
    partitions = max(module.num_partitions, 1 if module.is_scheduled else count_spread(capture.after))
    devices = partitions * module.replica_count
    shapes: Shapes = "of one device"
    if is_global(capture.after) or (partitions > 1 and name == "before the optimizations"):
        shapes = "global"
    elif partitions > 1 and not (module.is_scheduled or _PARTITIONED.search(capture.after)):
        shapes = "unknown"
    has_launches = module.is_scheduled or (name == "unknown" and shapes != "global" and _has_fusions(module))
    return Stage(name, last_pass, devices, shapes, has_launches)  # type: ignore[arg-type]  # the capture stores one of them


def _has_fusions(module: Module) -> bool:
    """Return whether a module contains kernels that a compiler decided on: fusions, or calls of its libraries."""
    return any(
        # The targets of NVIDIA's libraries begin with `__cublas` or `__cudnn`.
        instruction.opcode == "fusion" or "__cu" in (instruction.custom_call_target or "")
        for instruction in module.walk()
    )
