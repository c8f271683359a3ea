"""Handwritten HLO is read as by XLA's own parser, and errors have their place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect.compilation import read_back
from xla_inspect.errors import HloSyntaxError, InspectError
from xla_inspect.hlo.parser import parse_module

if TYPE_CHECKING:
    from xla_inspect.hlo.module import Module

WRITTEN = {path.stem: path.read_text("utf-8") for path in Path(__file__).with_name("written").glob("*.hlo")}
written = pytest.mark.parametrize("text", [pytest.param(WRITTEN[name], id=name) for name in sorted(WRITTEN)])

# What is wrong, where that is, and what is said to stand there.
WRONG = {
    "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x x)\n}\n": (5, 25, "found 'x)'"),
    "HloModule m\nENTRY e {\n  ROOT x = f32[4 parameter(0)\n}\n": (3, 18, "a size, ',' or ']'"),
    "HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n": (
        3,
        31,
        "the text is cut off: it ends in the middle of computation 'e'",
    ),
    "HloModule m\nENTRY e {\n  x = f32[] parameter(0) /* open\n}\n": (3, 26, "expected '*/'"),
    'HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0), metadata={op_name="a}\n}\n': (3, 50, 'expected "'),
    "HloModule m\nENTRY e {\n  ROOT y = add(nowhere, nowhere)\n}\n": (3, 12, "nowhere"),
    "HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\nENTRY f {\n  ROOT x = f32[] parameter(0)\n}\n": (
        5,
        7,
        "second",
    ),
    "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = concatenate(x, x)\n}\n": (4, 12, "do not tell it"),
    "A letter to a friend.\n": (1, 1, "expected"),
}


def tell(module: Module) -> list[list[tuple[str, str, tuple[str, ...], str, bool]]]:
    """Return the name, opcode, operands, sizes and root flag of each instruction, by computation.

    XLA prints in an order of its own, so this is sorted.
    """
    return sorted(
        sorted(
            (instruction.name, instruction.opcode, instruction.operands, instruction.shape.plain, instruction.is_root)
            for instruction in computation
        )
        for computation in module.computations
    )


@written
def test_a_handwritten_module_is_read_as_xla_reads_it(text: str) -> None:
    assert tell(parse_module(text)) == tell(parse_module(read_back(text)))


@written
def test_each_handwritten_module_has_a_form_that_xla_does_not_print(text: str) -> None:
    assert read_back(text).split() != text.split()


@pytest.mark.parametrize("text", WRONG)
def test_an_error_is_reported_with_line_column_and_expected_text(text: str) -> None:
    line, column, message = WRONG[text]
    with pytest.raises(InspectError, match="error"):
        read_back(text)
    with pytest.raises(HloSyntaxError) as refused:
        parse_module(text)
    place = re.match(r"line (\d+), column (\d+): (.*)", str(refused.value))
    assert place
    assert (int(place[1]), int(place[2])) == (line, column)
    assert message in place[3]


def test_a_multiline_configuration_becomes_one_line_with_its_inner_blanks() -> None:
    text = """ENTRY e {
      x = f32[] parameter(0)
      ROOT y = f32[] negate(x), frontend_attributes={a={n = 1 : i32, t = [0, 1]}}, backend_config={
          "k": [1,
                2],  "s": "a  b"
      }
    }"""
    assert dict(parse_module(text).entry.root.attributes) == {
        "frontend_attributes": "{a={n = 1 : i32, t = [0, 1]}}",
        "backend_config": '{"k": [1,2],  "s": "a  b"}',
    }
