"""The table of opcodes, docs/data/opcodes.toml, checked against the opcodes of the installed compiler."""

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
    """The table of opcodes does not match the compiler's opcodes."""


@dataclass(frozen=True, slots=True)
class OpcodeRow:
    """One opcode as the table describes it.

    Attributes:
        opcode: The opcode as HLO text spells it.
        says: One sentence.
        call: The Python expression that leads to it, or an empty string.
        by: The reason why no call leads to it, or none directly; or an empty string.
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
        """Its category in `xla_inspect.hlo`."""
        return CATEGORY[self.opcode]


def read_rows(path: Path, members: Iterable[str]) -> dict[str, OpcodeRow]:
    """Return the rows by opcode, for exactly the opcodes of the compiler.

    Args:
        path: The table.
        members: The names in jaxlib's enumeration.

    Raises:
        OpcodeTableError: The table or the package lacks an opcode of the compiler, or has one that the compiler
            lacks, or a row is incomplete.
    """
    rows = {name: _read_row(path, name, entry) for name, entry in _read_table(path).items()}
    live = {spell(member) for member in members}
    for names, where, what in (
        (set(rows), path, "add a row"),
        (set(CATEGORY), "xla_inspect/hlo/opcodes.py", "add it to a category"),
    ):
        if missing := sorted(live - names):
            message = f"{where} lacks {', '.join(missing)}, which the installed jaxlib has: {what}"
            raise OpcodeTableError(message)
        if stale := sorted(names - live):
            message = f"{where} has {', '.join(stale)}, which the installed jaxlib no longer has: remove it"
            raise OpcodeTableError(message)
    return {opcode: rows[opcode] for opcode in CATEGORY}


def _read_table(path: Path) -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))["opcodes"]
    return table


def _read_row(path: Path, opcode: str, entry: Mapping[str, str]) -> OpcodeRow:
    if unknown := sorted(set(entry) - KEYS):
        message = f"{path}: {opcode}: unknown key {', '.join(unknown)}; the keys are {', '.join(sorted(KEYS))}"
        raise OpcodeTableError(message)
    row = OpcodeRow(opcode, **entry)
    if not row.says.endswith("."):
        message = f"{path}: {opcode}: `says` must be one sentence that ends with a period"
        raise OpcodeTableError(message)
    if not (row.call or row.by):
        message = (
            f"{path}: {opcode}: give `call`, the Python expression that leads to it, or `by`, the reason why none does"
        )
        raise OpcodeTableError(message)
    return row


def check_calls(rows: Mapping[str, OpcodeRow], sightings: Sightings) -> None:
    """Check the call of each row against the compiled programs.

    Args:
        rows: The table.
        sightings: The sightings in the programs, with the Python expressions behind them.

    Raises:
        OpcodeTableError: No compiler input has the opcode of a row from the call in that row.
    """
    for row in rows.values():
        expressions = {
            stages["before"].expression for stages in sightings.get(row.opcode, {}).values() if "before" in stages
        }
        if row.call and row.call not in expressions:
            came = ", ".join(sorted(filter(None, expressions))) or "nothing"
            message = f"{row.opcode}: the call {row.call!r} leads to it in no program; it came from {came}"
            raise OpcodeTableError(message)
