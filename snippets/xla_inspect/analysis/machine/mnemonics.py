"""The kind of work of each machine instruction, by mnemonic, and the number of each kind in a kernel."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLES = Path(__file__).parent / "tables"

PADDING = "padding"
"""The kind of instructions that only pad the code."""

# A line of SASS has an address, a predicate, the mnemonic with its modifiers, and the operands.
_SASS = re.compile(
    r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9]*)(?P<rest>[\w.]*)(?P<operands>[^;]*);?"
)
_ASSEMBLY = re.compile(r"^    (?P<name>[a-z][\w.]*)(?P<rest>)(?: +(?P<operands>[^#\n]*))?", re.MULTILINE)
_PREFIXES = frozenset({"lock", "rep", "repe", "repne", "notrack", "bnd", "data16"})
# Compiled code for x86 contains none of these mnemonics.
_AARCH64 = re.compile(r"^    (?:stp|ldp|ldr|str|adrp)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Family:
    """A pattern of mnemonics whose instructions do the same kind of work.

    Attributes:
        pattern: The pattern of the whole mnemonic, without modifiers.
        kind: The kind of work, one of the kinds of the table.
        says: A sentence that describes the work.
    """

    pattern: re.Pattern[str]
    kind: str
    says: str


@dataclass(frozen=True)
class Table:
    """The known instructions of one machine.

    Attributes:
        kinds: A sentence about each kind, in display order.
        families: The patterns of the mnemonics; the first matching family applies.
        source: The address of the vendor's list.
    """

    kinds: Mapping[str, str]
    families: tuple[Family, ...]
    source: str

    def find(self, mnemonic: str) -> Family | None:
        """Return the first family whose pattern matches a mnemonic, or None if it is unknown."""
        return next((family for family in self.families if family.pattern.fullmatch(mnemonic)), None)


@dataclass(frozen=True)
class Mix:
    """The number of instructions of each kind in a kernel's code, regardless of how often they run.

    Attributes:
        counts: The number of instructions of each kind, largest first, without padding.
        unknown: The number of instructions of each mnemonic that the table does not contain.
        padding: The number of instructions that only pad the code.
    """

    counts: Mapping[str, int]
    unknown: Mapping[str, int]
    padding: int

    @property
    def total(self) -> int:
        """The number of instructions, without padding."""
        return sum(self.counts.values()) + sum(self.unknown.values())


@cache
def read_table(machine: str) -> Table:
    """Return the table of a machine's instructions: `sass`, `amdgcn`, `x86` or `aarch64`.

    Raises:
        FileNotFoundError: There is no table for the machine.
    """
    table = tomllib.loads((TABLES / f"{machine}.toml").read_text(encoding="utf-8"))
    families = tuple(Family(re.compile(entry["pattern"]), entry["kind"], entry["says"]) for entry in table["family"])
    return Table(table["kinds"], families, table["source"])


def name_machine(language: str, text: str) -> str:
    """Return the instruction set of a piece of code: `sass`, `amdgcn`, `aarch64` or `x86`.

    Args:
        language: The language of the piece, `sass` or `asm`.
        text: The code.
    """
    if language == "sass":
        return "sass"
    # The assembly of an AMD GPU's kernel is below a comment with the name of the GPU.
    if text.startswith("; gfx"):
        return "amdgcn"
    return "aarch64" if _AARCH64.search(text) else "x86"


def list_instructions(language: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the mnemonic, the modifiers and the operands of each instruction in a piece of code.

    Args:
        language: `sass` or `asm`.
        text: The code.
    """
    for match in (_SASS if language == "sass" else _ASSEMBLY).finditer(text):
        name, operands = match["name"], (match["operands"] or "").strip()
        # An x86 prefix is printed before the mnemonic, which then is the first word of the operands.
        if name in _PREFIXES and operands:
            name, _, operands = operands.partition(" ")
        yield name, match["rest"], operands.strip()


def count_instructions(language: str, text: str) -> Mix:
    """Return the number of instructions of each kind in a piece of code.

    Args:
        language: `sass` or `asm`.
        text: The code.
    """
    table = read_table(name_machine(language, text))
    counts: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for name, _, _ in list_instructions(language, text):
        if family := table.find(name):
            counts[family.kind] += 1
        else:
            unknown[name] += 1
    padding = counts.pop(PADDING, 0)
    return Mix(dict(counts.most_common()), dict(unknown.most_common()), padding)
