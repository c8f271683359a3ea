"""The project's table of opcodes, checked against the opcodes of the installed compiler."""

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
    """A mismatch between the table of opcodes and the compiler's opcodes."""


@dataclass(frozen=True, slots=True)
class OpcodeRow:
    """The table's row of one opcode.

    Attributes:
        opcode: The opcode as HLO text spells it.
        says: A one-sentence description.
        call: The Python expression that creates the opcode, or an empty string.
        by: The reason why no call creates it directly, or an empty string.
        xla: The anchor of its section in XLA's operation semantics, or an empty string.
        stablehlo: The anchor of its section in StableHLO's specification, or an empty string.
    """

    opcode: str
    says: str
    call: str = ""
    by: str = ""
    xla: str = ""
    stablehlo: str = ""

    @property
    def category(self) -> str:
        """The opcode's category."""
        return CATEGORY[self.opcode]


def read_rows(path: Path, members: Iterable[str]) -> dict[str, OpcodeRow]:
    """Read the table of opcodes, and return the row of each opcode of the compiler by its name.

    Args:
        path: The path of the table.
        members: The names of jaxlib's enumeration.

    Raises:
        OpcodeTableError: The opcodes of the compiler, the table and the package differ, or a row is incomplete.
    """
    rows = {name: _read_row(path, name, entry) for name, entry in _read_table(path).items()}
    live = {spell(member) for member in members}
    for names, where, what in (
        (set(rows), path, "add a row"),
        (set(CATEGORY), "xla_inspect/hlo/opcodes.py", "add it to a category"),
    ):
        if missing := sorted(live - names):
            message = f"{where} lacks {', '.join(missing)}, which the installed jaxlib has; {what}"
            raise OpcodeTableError(message)
        if surplus := sorted(names - live):
            message = f"{where} has {', '.join(surplus)}, which the installed jaxlib no longer has; remove it"
            raise OpcodeTableError(message)
    # Pages list opcodes in the order of the categories, not in that of the table.
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
        message = f"{path}: {opcode}: `says` must be one sentence that ends with a full stop"
        raise OpcodeTableError(message)
    if not (row.call or row.by):
        message = f"{path}: {opcode}: add `call`, the Python expression that creates it, or `by`, why none does"
        raise OpcodeTableError(message)
    return row


def check_calls(rows: Mapping[str, OpcodeRow], sightings: Sightings) -> None:
    """Raise an error if the Python call in some row creates the row's opcode in no compiled program.

    Raises:
        OpcodeTableError: The call in a row does not create its opcode in any program.
    """
    for row in rows.values():
        # Passes create opcodes too, so only the compiler's input proves that a call creates one.
        expressions = {
            stages["before"].expression for stages in sightings.get(row.opcode, {}).values() if "before" in stages
        }
        if row.call and row.call not in expressions:
            came = ", ".join(sorted(filter(None, expressions))) or "nothing"
            message = f"{row.opcode}: the call {row.call!r} creates it in no program; it came from {came}"
            raise OpcodeTableError(message)
