"""The table of opcodes matches the installed compiler; an error explains how to fix a mismatch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jaxlib._hlo import HloOpcode

from chapters.opcode_rows import OpcodeRow, OpcodeTableError, check_calls, read_rows
from xla_inspect.hlo import OPCODES, spell

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = Path(__file__).resolve().parents[2] / "docs" / "data" / "opcodes.toml"
MEMBERS = tuple(HloOpcode.__members__)

type Planter = Callable[[str, str], Path]


@pytest.fixture
def plant(tmp_path: Path) -> Planter:
    """A function that writes a copy of the table with one text replaced, and returns its path."""

    def plant(old: str, new: str) -> Path:
        text = TABLE.read_text(encoding="utf-8")
        assert old in text
        path = tmp_path / "opcodes.toml"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return path

    return plant


def test_the_table_has_a_row_for_each_opcode_of_the_installed_jaxlib() -> None:
    rows = read_rows(TABLE, MEMBERS)
    assert set(rows) == OPCODES
    assert len(rows) == len(MEMBERS)


@pytest.mark.parametrize(
    ("member", "opcode"),
    [
        ("kAllGatherStart", "all-gather-start"),
        ("kExp2", "exp2"),
        ("kExpm1", "exponential-minus-one"),
        ("kTopK", "topk"),
    ],
)
def test_members_are_spelled_as_in_hlo_text(member: str, opcode: str) -> None:
    assert spell(member) == opcode


def test_a_new_opcode_of_jaxlib_fails_with_its_name() -> None:
    with pytest.raises(OpcodeTableError, match=r"opcodes\.toml lacks frobnicate-start, which .* has; add a row"):
        read_rows(TABLE, [*MEMBERS, "kFrobnicateStart"])


def test_an_opcode_that_jaxlib_loses_fails_and_is_named() -> None:
    with pytest.raises(OpcodeTableError, match=r"opcodes\.toml has tanh, which .* no longer has; remove it"):
        read_rows(TABLE, [member for member in MEMBERS if member != "kTanh"])


def test_a_missing_row_fails_with_its_opcode(plant: Planter) -> None:
    text = TABLE.read_text(encoding="utf-8")
    row = text[text.index("[opcodes.tanh]") : text.index("[opcodes.xor]")]
    with pytest.raises(OpcodeTableError, match="lacks tanh"):
        read_rows(plant(row, ""), MEMBERS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('says = "Computes the tangent."', 'says = "Computes the tangent"', "tan: `says` must be one sentence"),
        ('call = "lax.tan(x)"', "", "tan: add `call`"),
        ('call = "lax.tan(x)"', 'cal = "lax.tan(x)"', "tan: unknown key cal"),
    ],
)
def test_an_incomplete_row_fails_with_its_opcode(plant: Planter, old: str, new: str, message: str) -> None:
    with pytest.raises(OpcodeTableError, match=message):
        read_rows(plant(old, new), MEMBERS)


def test_a_call_in_no_program_fails_with_its_opcode() -> None:
    rows = {"tan": OpcodeRow("tan", "The tangent.", call="lax.tan(x)")}
    with pytest.raises(OpcodeTableError, match=r"tan: the call 'lax.tan\(x\)'"):
        check_calls(rows, {})
