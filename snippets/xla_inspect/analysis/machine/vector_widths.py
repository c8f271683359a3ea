"""The register widths of a CPU kernel's instructions: whole vectors of some width, or one element."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.machine.mnemonics import list_instructions, name_machine

if TYPE_CHECKING:
    from collections.abc import Mapping

SCALAR = "scalar"
"""One element in a register that could hold several."""

WIDTHS = {"zmm": 512, "ymm": 256, "xmm": 128, "v": 128}
"""Bits of registers by what their names begin with."""

_X86 = re.compile(r"\b([xyz]mm)\d+")
_ONE = re.compile(r"v?\w*(?:ss|sd|sh)\d*|v?mov[dq]|v?cvtt?s[sdi]\w*|v?u?comis\w")
_ONE_BUT_NOT = re.compile(r"v?(?:p?abs|broadcast|pbroadcast|pack|punpck|psh)\w*|vpdpwssds?|v?bcast\w*")
_ARM = re.compile(r"\bv\d+\.(?:8b|16b|4h|8h|2s|4s|1d|2d)|\bq\d+")
_ARM_ONE = re.compile(r"\b[sdh]\d+\b")
_STACK = re.compile(r"\[(?:rsp|rbp|sp|x29)\b[^\]]*\]")


@dataclass(frozen=True, slots=True)
class VectorUse:
    """The use of vector registers by a kernel's instructions.

    Attributes:
        by_register: `zmm`, `ymm`, `xmm` or `v` (the register that it works on), or `scalar`, to number of instructions.
        instructions: All instructions of its code.
        on_stack: How many of those with a vector register load from the stack or store to it, as for spilled values.
    """

    by_register: Mapping[str, int]
    instructions: int
    on_stack: int

    @property
    def vectors(self) -> int:
        """Instructions that work on whole vectors."""
        return sum(number for name, number in self.by_register.items() if name != SCALAR)

    @property
    def width(self) -> int:
        """Bits of the registers that most of its instructions on vectors use; 0 of none."""
        most = max((number for name, number in self.by_register.items() if name in WIDTHS), default=0)
        used = (bits for name, bits in WIDTHS.items() if self.by_register.get(name) == most)
        return max(used, default=0)


def count_widths(text: str) -> VectorUse:
    """Return how the instructions of a kernel use vector registers.

    Args:
        text: Its assembly.
    """
    is_arm = name_machine("asm", text) == "aarch64"
    counts: Counter[str] = Counter()
    total = on_stack = 0
    for name, _, operands in list_instructions("asm", text):
        total += 1
        result = _name_arm(operands) if is_arm else _name_x86(name, operands)
        if result:
            counts[result] += 1
            on_stack += bool(_STACK.search(operands))
    return VectorUse(dict(counts.most_common()), total, on_stack)


def _name_x86(name: str, operands: str) -> str:
    registers: list[str] = _X86.findall(operands)
    if not registers:
        return ""
    if _ONE.fullmatch(name) and not _ONE_BUT_NOT.fullmatch(name):
        return SCALAR
    return max(registers, key=lambda register: WIDTHS[register])


def _name_arm(operands: str) -> str:
    if _ARM.search(operands):
        return "v"
    return SCALAR if _ARM_ONE.search(operands) else ""
