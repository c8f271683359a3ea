"""Kinds of machine instructions, including unknown ones."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from programs import attention, transformer_block
from xla_inspect import capture
from xla_inspect.analysis.machine import count_instructions, read_table
from xla_inspect.analysis.machine.mnemonics import PADDING, TABLES, list_instructions
from xla_inspect.targets import FAMILIES, find_entry

MACHINES = sorted(path.stem for path in TABLES.glob("*.toml"))
GPUS = [name for family in FAMILIES for name in family if find_entry(name).kind == "gpu"]

SASS = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
        /*0020*/              @UP1 UIADD3 UR4, UP0, UR4, UR8, URZ ;
        /*0030*/                   HMMA.1688.F32.TF32 R8, R16, R12, RZ ;
        /*0040*/                   BRANDNEW.X R8 ;
        /*0050*/                   NOP;
"""


def test_sass_is_counted_by_kind_without_predicates_and_modifiers() -> None:
    mix = count_instructions("sass", SASS)
    assert mix.counts == {"constants": 1, "branches": 1, "integers": 1, "tensor cores": 1}
    assert (mix.unknown, mix.padding, mix.total) == ({"BRANDNEW": 1}, 1, 5)


def test_mnemonics_modifiers_and_operands_are_separated() -> None:
    listed = list(list_instructions("sass", SASS))
    assert listed[3] == ("HMMA", ".1688.F32.TF32", "R8, R16, R12, RZ")
    assert next(list_instructions("asm", "f:\n    rep stosq    qword ptr [rdi]\n"))[0] == "stosq"


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", [*GPUS, "cpu"])
def test_nearly_all_instructions_of_real_kernels_are_known(target: str) -> None:
    function, example = transformer_block.transformer_block, transformer_block.EXAMPLE
    program = capture(function, *example, target=target, machine=True, passes=False)
    counts: Counter[bool] = Counter()
    for code in program.code:
        if code.language in {"sass", "asm"}:
            mix = count_instructions(code.language, code.text)
            counts.update({True: sum(mix.counts.values()), False: sum(mix.unknown.values())})
    assert counts[True] / counts.total() >= 0.99


@pytest.mark.usefixtures("all_targets")
def test_no_instruction_of_a_listing_is_left_out() -> None:
    program = capture(attention.attention, *attention.EXAMPLE, target="h100", machine=True, passes=False)
    for code in program.code:
        if code.language == "sass":
            lines = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/", code.text, re.MULTILINE)
            mix = count_instructions("sass", code.text)
            assert mix.total + mix.padding == len(lines)


@pytest.mark.parametrize("machine", MACHINES)
def test_each_kind_of_a_table_has_a_sentence_and_each_family_a_kind(machine: str) -> None:
    table = read_table(machine)
    assert {family.kind for family in table.families} == table.kinds.keys()
    assert PADDING in table.kinds
    assert all(says.endswith(".") for says in (*table.kinds.values(), *(family.says for family in table.families)))
    # No mnemonic is a placeholder.
    assert not [entry.pattern.pattern for entry in table.families if re.search(r"_(?:\||$)", entry.pattern.pattern)]
