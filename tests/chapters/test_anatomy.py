"""Parts of HLO lines and shapes, compared with the text of real modules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from jax._src.tpu_custom_call import MemorySpace

from chapters import anatomy
from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo import parse_shape

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

LINE = (
    '  ROOT %y.1 = f32[8]{0} fusion(%x, %z), kind=kLoop, calls=%f, metadata={op_name="jit(f)/<add>" stack_frame_id=2}'
)


def test_the_parts_of_every_line_of_real_modules_form_the_line(captures: Captures) -> None:
    for capture in captures.values():
        for text in (capture.before, capture.after):
            lines = [line.strip() for line in text.splitlines() if re.match(r"\s+(?:ROOT )?%", line)]
            assert len(lines) > 5
            for line in lines:
                assert "".join(part.text for part in anatomy.split_line(line)) == line


def test_each_part_of_a_line_has_its_name() -> None:
    parts = {part.name: part.text for part in anatomy.split_line(LINE) if part.name}
    assert parts == {
        "root": "ROOT",
        "name": "%y.1",
        "shape": "f32[8]{0}",
        "opcode": "fusion",
        "operands": "%x, %z",
        "kind": "kind=kLoop",
        "calls": "calls=%f",
        "metadata": 'metadata={op_name="jit(f)/<add>" stack_frame_id=2}',
    }


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("%p = f32[8]{0} parameter(1)", "number", "1"),
        ("%c = s32[2]{0} constant({1, 2})", "literal", "{1, 2}"),
        ("%s = (s8[4]{0}, s8[2]{0}) slice-start(%p), calls=%f", "opcode", "slice-start"),
    ],
)
def test_numbers_literals_and_asynchronous_opcodes_are_parts(line: str, name: str, text: str) -> None:
    assert {part.name: part.text for part in anatomy.split_line(line)}[name] == text


def test_a_figure_numbers_the_parts_and_names_them_in_that_order() -> None:
    html = anatomy.annotate_instruction(LINE)
    assert re.findall(r"<sup>(\d+)</sup>", html) == list("12345678")
    assert re.findall(r"<b>(\w+)</b>", html)[:5] == ["root", "name", "shape", "opcode", "operands"]
    assert "&lt;add&gt;" in html


def test_a_long_attribute_is_cut_and_counted() -> None:
    html = anatomy.annotate_instruction(f'%y = f32[] add(%x, %x), backend_config={{"a":"{"b" * 200}"}}')
    assert "b" * 100 not in html
    assert "(223 characters)" in html


def test_a_line_that_is_not_an_instruction_is_rejected() -> None:
    with pytest.raises(HloSyntaxError):
        anatomy.annotate_instruction("ENTRY %main {")


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        (
            "f32[128,256]{1,0:T(8,128)S(1)}",
            [
                "floating point, 32 bits",
                "2 dimensions, 32,768 elements",
                "minor to major: elements along dimension 1 are adjacent in memory, then 0",
                "the array is stored in tiles of 8 x 128",
                "memory space 1: VMEM, the TPU's on-chip vector memory",
            ],
        ),
        ("pred[]", ["truth value, one byte per element", "none: a scalar"]),
        ("bf16[4]{0:E(4)}", ["brain floating point, 16 bits", "1 dimension, 4 elements",
                             "minor to major: elements along dimension 0 are adjacent in memory",
                             "another field of the layout"]),
    ],
)  # fmt: skip
def test_each_part_of_a_shape_says_what_it_means(text: str, meanings: list[str]) -> None:
    parts = anatomy.split_shape(parse_shape(text))
    assert "".join(part.text for part in parts) == text
    assert [part.meaning for part in parts if part.name] == meanings


@pytest.mark.parametrize(("space", "word"), [("VMEM", "VMEM"), ("SEMAPHORE_MEM", "semaphores"), ("SMEM", "SMEM")])
def test_tpu_memory_spaces_have_jaxs_numbers(space: str, word: str) -> None:
    shape = parse_shape(f"f32[8]{{0:T(128)S({MemorySpace[space].color})}}")
    (memory,) = (part for part in anatomy.split_shape(shape) if part.name == "memory")
    assert word in memory.meaning
