"""The number of a CPU kernel's instructions that use each width of vector registers, or only one element."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.machine.mnemonics import list_instructions, name_machine

if TYPE_CHECKING:
    from collections.abc import Mapping

SCALAR = "scalar"
"""The key in `VectorUse.by_register` for instructions that use one element of a vector register."""

WIDTHS = {"zmm": 512, "ymm": 256, "xmm": 128, "v": 128}
"""The bits of registers by the prefix of their names."""

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
        by_register: The number of instructions by register (`zmm`, `ymm`, `xmm` or `v`), or under `scalar`.
        instructions: The number of all instructions of the code.
        on_stack: The number of instructions that move a vector register from or to the stack, for example a spill.
    """

    by_register: Mapping[str, int]
    instructions: int
    on_stack: int

    @property
    def vectors(self) -> int:
        """The number of instructions that work on whole vectors."""
        return sum(number for name, number in self.by_register.items() if name != SCALAR)

    @property
    def width(self) -> int:
        """The bits of the vector registers that most instructions use; 0 without vectors."""
        most = max((number for name, number in self.by_register.items() if name in WIDTHS), default=0)
        widths = (bits for name, bits in WIDTHS.items() if self.by_register.get(name) == most)
        return max(widths, default=0)

    @property
    def widest(self) -> int:
        """The width in bits of the widest vector register that an instruction uses; 0 without vectors."""
        return max((WIDTHS[name] for name in self.by_register if name in WIDTHS), default=0)


def count_widths(text: str) -> VectorUse:
    """Return the number of a kernel's instructions by the vector registers that they use.

    Args:
        text: The assembly of the kernel.
    """
    is_arm = name_machine("asm", text) == "aarch64"
    counts: Counter[str] = Counter()
    total = on_stack = 0
    for name, _, operands in list_instructions("asm", text):
        total += 1
        register = _name_arm(operands) if is_arm else _name_x86(name, operands)
        if register:
            counts[register] += 1
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
