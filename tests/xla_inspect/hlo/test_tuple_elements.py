"""Tuple elements selected in operand position are instructions, named as by XLA's own parser."""

from __future__ import annotations

import pytest
from jaxlib import _hlo

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.parser import parse_module
from xla_inspect.hlo.tuple_elements import spell_out


def in_entry(*lines: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m\n\nENTRY %main {{\n{body}\n}}\n"


NESTED = in_entry(
    "%p = (f32[4]{0}, (s32[], f32[2]{0})) parameter(0)",
    '%q = (f32[4]{0}, s32[]) tuple(%p#0, %p#1#0), metadata={op_name="%p#1"}',
    "ROOT %r = (s32[], f32[4]{0}, (s32[], f32[2]{0})) tuple(%p#1#0, f32[4]{0} %q#0, %p#1)",
)
TAKEN = in_entry(
    "%p = (f32[4]{0}, s32[]) parameter(0)",
    "%p_0 = f32[4]{0} constant({1, 2, 3, 4})",
    "ROOT %a = f32[4]{0} add(%p_0, %p#0)",
)


def test_an_inline_tuple_element_is_an_instruction() -> None:
    module = parse_module(NESTED)
    assert [(i.name, i.opcode, i.shape.text, i.operands) for i in module.entry] == [
        ("p", "parameter", "(f32[4]{0}, (s32[], f32[2]{0}))", ()),
        ("p_0", "get-tuple-element", "f32[4]{0}", ("p",)),
        ("p_1", "get-tuple-element", "(s32[], f32[2]{0})", ("p",)),
        ("p_1_0", "get-tuple-element", "s32[]", ("p_1",)),
        ("q", "tuple", "(f32[4]{0}, s32[])", ("p_0", "p_1_0")),
        ("q_0", "get-tuple-element", "f32[4]{0}", ("q",)),
        ("r", "tuple", "(s32[], f32[4]{0}, (s32[], f32[2]{0}))", ("p_1_0", "q_0", "p_1")),
    ]
    assert [i.op_name for i in module.entry if i.op_name] == ["%p#1"]
    assert module.entry.root.name == "r"


def test_an_inline_tuple_element_gets_an_unused_name() -> None:
    assert parse_module(TAKEN).entry.root.operands == ("p_0", "p_0.1")


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("ROOT %a = f32[4]{0} add(%x, %p#7)", "'p#7' is no element of a tuple", 32),
        ("ROOT %a = f32[4]{0} add(%x#0, %x)", "'x#0' is no element of a tuple", 28),
        ("ROOT %a = f32[4]{0} add(%x, %p#0#1)", "'p#0#1' is no element of a tuple", 32),
        ("ROOT %a = f32[4]{0} add(%x, %none#0)", "operand 'none' is not defined in computation 'main'", 32),
    ],
)
def test_a_missing_tuple_element_is_rejected_with_its_place(line: str, message: str, column: int) -> None:
    text = in_entry("%p = (f32[4]{0}, s32[]) parameter(0)", "%x = f32[4]{0} parameter(1)", line)
    with pytest.raises(HloSyntaxError) as raised:
        parse_module(text)
    assert (raised.value.message, raised.value.line) == (message, text.split("\n").index(f"  {line}") + 1)
    assert raised.value.column == column


@pytest.mark.parametrize("text", [NESTED, TAKEN])
def test_inline_tuple_elements_match_xlas_instructions(text: str) -> None:
    def tell(module: str) -> set[tuple[object, ...]]:
        return {(i.name, i.opcode, i.shape.text, i.operands, i.is_root) for i in parse_module(module).entry}

    reread_text = _hlo.hlo_module_from_text(text).to_string()
    assert tell(text) == tell(spell_out(text)) == tell(reread_text)


def test_text_without_inline_tuple_elements_is_unchanged() -> None:
    text = in_entry('ROOT %a = f32[4]{0} add(%x, %y), metadata={op_name="%x#0"}', '// %x#0, "open %x#1')
    assert spell_out(text) == text
