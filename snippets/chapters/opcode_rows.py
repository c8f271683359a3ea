"""What the project says of each opcode, joined to the opcodes that the installed compiler has."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.hlo import CATEGORY, spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from chapters.opcode_index import Sightings

KEYS = frozenset({"says", "call", "by", "xla", "stablehlo"})


class OpcodeTableError(InspectError):
    """The table of opcodes and the compiler's opcodes do not go together."""


@dataclass(frozen=True, slots=True)
class OpcodeRow:
    """What the table holds of one opcode.

    Attributes:
        opcode: The opcode as HLO text spells it.
        says: One sentence.
        call: The Python expression that leads to it, or an empty string.
        by: Why no call does, or not directly, or an empty string.
        xla: Its section of XLA's operation semantics, or an empty string.
        stablehlo: Its section of StableHLO's specification, or an empty string.
    """

    opcode: str
    says: str
    call: str = ""
    by: str = ""
    xla: str = ""
    stablehlo: str = ""

    @property
    def category(self) -> str:
        """The category that the package sorts it into."""
        return CATEGORY[self.opcode]


def read_rows(path: Path, members: Iterable[str]) -> dict[str, OpcodeRow]:
    """Return opcode to row, for exactly the opcodes that the compiler has.

    Args:
        path: The table.
        members: The names of jaxlib's enumeration.

    Raises:
        OpcodeTableError: The compiler has an opcode that the table or the package lacks, or the other way round, or a
            row says too little.
    """
    rows = {name: _read_row(path, name, entry) for name, entry in _read_table(path).items()}
    live = {spell(member) for member in members}
    for known, where, what in (
        (set(rows), path, "add a row"),
        (set(CATEGORY), "xla_inspect/hlo/opcodes.py", "add it to a category"),
    ):
        if missing := sorted(live - known):
            message = f"{where} lacks {', '.join(missing)}, which the installed jaxlib has; {what}"
            raise OpcodeTableError(message)
        if gone := sorted(known - live):
            message = f"{where} has {', '.join(gone)}, which the installed jaxlib no longer has; take it out"
            raise OpcodeTableError(message)
    return {opcode: rows[opcode] for opcode in CATEGORY}


def _read_table(path: Path) -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))["opcodes"]
    return table


def _read_row(path: Path, opcode: str, entry: Mapping[str, str]) -> OpcodeRow:
    if unknown := sorted(set(entry) - KEYS):
        message = f"{path}: {opcode}: no key is named {', '.join(unknown)}; the keys are {', '.join(sorted(KEYS))}"
        raise OpcodeTableError(message)
    row = OpcodeRow(opcode, **entry)
    if not row.says.endswith("."):
        message = f"{path}: {opcode}: `says` is one sentence with a full stop"
        raise OpcodeTableError(message)
    if not (row.call or row.by):
        message = f"{path}: {opcode}: give `call`, the Python expression that leads to it, or `by`, why none does"
        raise OpcodeTableError(message)
    return row


def check_calls(rows: Mapping[str, OpcodeRow], sightings: Sightings) -> None:
    """Hold each row's call against what was compiled.

    Args:
        rows: The table.
        sightings: What the programs reach, each opcode with the expressions it came from.

    Raises:
        OpcodeTableError: The compiler got no such opcode from the call that a row names.
    """
    for row in rows.values():
        got = {stages["before"].expression for stages in sightings.get(row.opcode, {}).values() if "before" in stages}
        if row.call and row.call not in got:
            came = ", ".join(sorted(filter(None, got))) or "nothing"
            message = f"{row.opcode}: no program's HLO has it from the call {row.call!r}; it came from {came}"
            raise OpcodeTableError(message)
