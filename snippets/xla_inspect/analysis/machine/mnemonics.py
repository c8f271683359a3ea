"""The kinds of work of a machine's instructions, by mnemonic, and their numbers in a kernel."""

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
"""The kind of what fills up the code and does nothing."""

# An address, a predicate, the mnemonic with its modifiers, the operands.
_SASS = re.compile(
    r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9]*)(?P<rest>[\w.]*)(?P<operands>[^;]*);?"
)
_ASSEMBLY = re.compile(r"^    (?P<name>[a-z][\w.]*)(?P<rest>)(?: +(?P<operands>[^#\n]*))?", re.MULTILINE)
_PREFIXES = frozenset({"lock", "rep", "repe", "repne", "notrack", "bnd", "data16"})
_AARCH64 = re.compile(r"^    (?:stp|ldp|ldr|str|adrp)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Family:
    """Instructions that do the same kind of work.

    Attributes:
        pattern: The pattern of their whole mnemonics, without modifiers.
        kind: The kind of work, one of its table's.
        says: A sentence about their work.
    """

    pattern: re.Pattern[str]
    kind: str
    says: str


@dataclass(frozen=True)
class Table:
    """The known instructions of one machine.

    Attributes:
        kinds: Kind to what it is, a sentence, in the order in which they are shown.
        families: Its instructions; the first that matches counts.
        source: The address of the vendor's list.
    """

    kinds: Mapping[str, str]
    families: tuple[Family, ...]
    source: str

    def find(self, mnemonic: str) -> Family | None:
        """Return the entry of an instruction, or None if it is unknown."""
        return next((family for family in self.families if family.pattern.fullmatch(mnemonic)), None)


@dataclass(frozen=True)
class Mix:
    """The number of instructions of each kind in a kernel's code, regardless of how often they run.

    Attributes:
        counts: Kind to number, the most first, without what only fills up the code.
        unknown: Mnemonics that the table does not know, to number.
        padding: Instructions that only fill up the code.
    """

    counts: Mapping[str, int]
    unknown: Mapping[str, int]
    padding: int

    @property
    def total(self) -> int:
        """All instructions but those that only fill up the code."""
        return sum(self.counts.values()) + sum(self.unknown.values())


@cache
def read_table(machine: str) -> Table:
    """Return the table of a machine's instructions: `sass`, `x86` or `aarch64`.

    Raises:
        FileNotFoundError: There is no table of it.
    """
    read = tomllib.loads((TABLES / f"{machine}.toml").read_text(encoding="utf-8"))
    families = tuple(Family(re.compile(item["pattern"]), item["kind"], item["says"]) for item in read["family"])
    return Table(read["kinds"], families, read["source"])


def name_machine(language: str, text: str) -> str:
    """Return whose instructions a piece of code is written in.

    Args:
        language: `sass` or `asm`, as the piece has it.
        text: The code.
    """
    if language == "sass":
        return "sass"
    return "aarch64" if _AARCH64.search(text) else "x86"


def list_instructions(language: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield mnemonic, modifiers and operands of each instruction of a piece of code.

    Args:
        language: `sass` or `asm`.
        text: The code.
    """
    for match in (_SASS if language == "sass" else _ASSEMBLY).finditer(text):
        name, operands = match["name"], (match["operands"] or "").strip()
        if name in _PREFIXES and operands:
            name, _, operands = operands.partition(" ")
        yield name, match["rest"], operands.strip()


def count_instructions(language: str, text: str) -> Mix:
    """Return how many instructions of each kind a piece of code has.

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
