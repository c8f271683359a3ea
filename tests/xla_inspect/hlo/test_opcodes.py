"""The opcodes of the pinned compiler, each in one category."""

from __future__ import annotations

import pytest
from jaxlib._hlo import HloOpcode

from xla_inspect.hlo.opcodes import CATEGORIES, IDLE, OPCODES, categorise, resolve, spell


def test_the_opcodes_are_those_of_the_installed_jaxlib() -> None:
    assert {spell(name) for name in HloOpcode.__members__} == set(OPCODES)
    assert len(OPCODES) == 137


def test_there_are_ten_categories() -> None:
    assert CATEGORIES == (
        "element-wise",
        "reduction",
        "data movement",
        "linear algebra",
        "control flow and ordering",
        "communication",
        "random",
        "batch norm",
        "custom",
        "structure",
    )
    assert {categorise(opcode) for opcode in OPCODES} == set(CATEGORIES)
    assert IDLE < OPCODES


@pytest.mark.parametrize(
    ("spelling", "opcode", "inner", "category"),
    [
        ("add", "add", None, "element-wise"),
        ("slice-start", "async-start", "slice", "data movement"),
        ("fusion-done", "async-done", "fusion", "structure"),
        ("copy-start", "copy-start", None, "data movement"),
        ("all-to-all-update", "async-update", "all-to-all", "communication"),
    ],
)
def test_an_asynchronous_opcode_belongs_to_its_wrapped_opcode(
    spelling: str, opcode: str, inner: str | None, category: str
) -> None:
    assert (resolve(spelling), categorise(spelling)) == ((opcode, inner), category)


def test_an_unknown_opcode_is_rejected() -> None:
    with pytest.raises(ValueError, match="unknown opcode 'frobnicate-start'"):
        resolve("frobnicate-start")
