"""A module written as text is read back by XLA's own parser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture
from xla_inspect.compilation import read_back
from xla_inspect.hlo.parser import parse_module
from xla_inspect.hlo.writer import write_module

from .test_normal_form import written

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

TABLES = """\
HloModule m

FileNames
1 "a \\"b\\".py"

FunctionNames
1 "outer"
2 "inner"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=8 end_column=40}
2 {file_name_id=1 function_name_id=2 line=5 end_line=6 column=0 end_column=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


ENTRY %e {
  ROOT %x = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2}
}
"""


def squeeze(text: str) -> str:
    """Return a printed module without white space and with numbered computations."""
    names = re.findall(r"^(?:ENTRY )?%(\S+) \(.*\{$", text, re.MULTILINE)
    numbers = {name: f"%{number}" for number, name in enumerate(names)}
    return re.sub(r"\s+", "", re.sub(r"%([\w.\-]+)", lambda match: numbers.get(match[1], match[0]), text))


@pytest.fixture(scope="module")
def program() -> Capture:
    from programs.layer import EXAMPLE, layer

    return capture(layer, *EXAMPLE, target="cpu")


@written
def test_a_written_module_means_the_same_once_it_is_written_back(text: str) -> None:
    assert squeeze(read_back(write_module(parse_module(text)))) == squeeze(read_back(text))


@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_compiled_module_means_the_same_once_it_is_written_back(program: Capture, stage: str) -> None:
    text = getattr(program, stage)
    assert squeeze(read_back(write_module(parse_module(text)))) == squeeze(read_back(text))


def test_call_chains_are_written_as_the_tables_that_they_are_read_from() -> None:
    module = parse_module(TABLES)
    assert module.stack_frames
    assert parse_module(write_module(module)).stack_frames == module.stack_frames
