"""Functions of the page about custom kernels: a count of launches, and a custom call's shortened line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_inspect.hlo import Module


def count_launches(module: Module) -> int:
    """Return the number of fusions and custom calls of the entry computation."""
    counts = module.opcode_counts(entry_only=True)
    return counts["fusion"] + counts["custom-call"]


def cut_call(text: str) -> str:
    """Return the first line of HLO text with a custom call, without metadata and with a shortened payload."""
    line = next(line.strip() for line in text.splitlines() if "custom-call(" in line)
    line = re.sub(r'("body":"|ir = ")([^"]{24})[^"]*"', r'\1\2..."', line)
    return re.sub(r", metadata=\{[^}]*\}", "", line)
