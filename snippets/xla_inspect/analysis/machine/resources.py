"""What a GPU's kernel takes of the hardware, as NVIDIA's assembler says above the SASS that a capture holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAID = re.compile(r"^// ptxas: (.*)$", re.MULTILINE)
_FIGURES = {
    "registers": re.compile(r"Used (\d+) registers"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "constants": re.compile(r"(\d+) bytes cmem\[0\]"),
}


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes.

    Attributes:
        registers: Registers of 32 bits that a thread has.
        spill_stores: Bytes that a thread stores for want of registers, as the code has it, not by how often it runs.
        spill_loads: Bytes that it loads back, likewise.
        stack: Bytes of local memory that a thread has: spilled registers, and arrays that it indexes.
        shared: Bytes of shared memory of a block that the code declares, to which comes what a launch asks for.
        barriers: Barriers that the threads of a block wait at.
        constants: Bytes of constant memory for the arguments of the kernel, where that is said.
        said: The assembler's own words, line by line.
    """

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    barriers: int
    constants: int
    said: tuple[str, ...]

    @property
    def spilled(self) -> int:
        """Bytes that a thread stores and loads for want of registers."""
        return self.spill_stores + self.spill_loads


def read_resources(sass: str) -> Resources | None:
    """Return what a kernel takes, or None where nothing of it stands above its code.

    Args:
        sass: The text of a piece of `sass`.
    """
    said = tuple(_SAID.findall(sass))
    text = "\n".join(said)
    found = {name: pattern.search(text) for name, pattern in _FIGURES.items()}
    if found["registers"] is None:
        return None
    return Resources(**{name: int(match[1]) if match else 0 for name, match in found.items()}, said=said)
