"""The hardware resources of a GPU's kernel, from the comments above its machine code.

For an NVIDIA GPU, they are the report of its assembler, and for an AMD GPU, the compiler's metadata. A VGPR of an AMD
GPU holds a number for each thread of a wave, so it counts as a register of a thread; an SGPR holds one for the wave.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAID = re.compile(r"^(?:// ptxas:|;) (.*)$", re.MULTILINE)
_FIGURES = {
    "registers": re.compile(r"(\d+) (?:registers|VGPRs)"),
    "scalar": re.compile(r"(\d+) SGPRs"),
    "spill_stores": re.compile(r"(\d+) bytes (?:spill stores|stored for lack of VGPRs)"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "stack": re.compile(r"(\d+) bytes (?:stack frame|of scratch memory)"),
    "shared": re.compile(r"(\d+) bytes (?:smem|of LDS)"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "constants": re.compile(r"(\d+) bytes cmem\[0\]"),
}


@dataclass(frozen=True, slots=True)
class Resources:
    """The hardware resources of a kernel.

    Attributes:
        registers: The 32-bit registers of a thread.
        scalar: The 32-bit registers of a whole wave of an AMD GPU; 0 for other GPUs.
        spill_stores: Bytes that a thread stores because it has too few registers, counting each instruction once.
        spill_loads: Bytes that a thread loads back, counted in the same way; 0 for an AMD GPU, which reports no loads.
        stack: The bytes of local memory of a thread, for spilled registers and for arrays that the thread indexes.
        shared: The bytes of shared memory of a block that the code declares; a launch may request more.
        barriers: The barriers at which the threads of a block wait.
        constants: Bytes of constant memory for the arguments of the kernel, if reported.
        said: The lines of the report.
    """

    registers: int
    scalar: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    barriers: int
    constants: int
    said: tuple[str, ...]

    @property
    def spilled(self) -> int:
        """The bytes that a thread stores and loads because it has too few registers."""
        return self.spill_stores + self.spill_loads


def read_resources(code: str) -> Resources | None:
    """Return the resources of a kernel from the report in its code, or None without a report; missing figures are 0.

    Args:
        code: The text of a piece of `sass`, or of `asm` for an AMD GPU.
    """
    lines = tuple(_SAID.findall(code))
    text = "\n".join(lines)
    matches = {name: pattern.search(text) for name, pattern in _FIGURES.items()}
    # Each report states the registers, so without this figure there is no report.
    if matches["registers"] is None:
        return None
    return Resources(**{name: int(match[1]) if match else 0 for name, match in matches.items()}, said=lines)
