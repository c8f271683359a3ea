"""Dumps of one compilation use the same ids for call chains and contain every instruction."""

from __future__ import annotations

import pytest
from jax.sharding import PartitionSpec as P

from programs import mlp
from xla_inspect import Capture, capture
from xla_inspect.analysis import find_line
from xla_inspect.dumps import Frames
from xla_inspect.hlo import parse_module

TABLES = """FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {{file_name_id=1 function_name_id=1 line={0} end_line={0} column=0 end_column=4}}
2 {{file_name_id=1 function_name_id=1 line={1} end_line={1} column=0 end_column=4}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}
2 {{file_location_id=2 parent_frame_id=1}}

"""
BODY = """ENTRY %m { %x = f32[] parameter(0), metadata={stack_frame_id=1}
 %y = f32[] abs(%x), metadata={stack_frame_id=2} }"""


def test_the_first_dump_keeps_its_ids() -> None:
    frames = Frames()
    assert frames.clean(TABLES.format(3, 5) + BODY) == BODY
    assert {key: [frame.line for frame in chain] for key, chain in frames.chains.items()} == {1: [3], 2: [5]}


def test_a_dump_with_renumbered_frames_gets_the_ids_of_the_first() -> None:
    frames = Frames()
    frames.clean(TABLES.format(3, 5) + BODY)
    swapped = frames.clean(TABLES.format(5, 3) + BODY)
    assert [line.partition("stack_frame_id=")[2][0] for line in swapped.splitlines()] == ["2", "1"]


def test_a_call_chain_only_in_a_later_dump_gets_a_new_id() -> None:
    frames = Frames()
    frames.clean(TABLES.format(3, 5) + BODY)
    later = frames.clean(TABLES.format(3, 8) + BODY)
    assert [line.partition("stack_frame_id=")[2][0] for line in later.splitlines()] == ["1", "3"]
    assert [frame.line for frame in frames.chains[3]] == [8]


@pytest.fixture(scope="module")
def partitioned() -> Capture:
    """The capture of an MLP whose batch is split over eight CPU devices."""
    return capture(mlp.mlp, *mlp.EXAMPLE, target="cpu:8", mesh={"data": 8}, specs=(P("data"), P(), P(), P(), P()))


def test_a_partitioned_program_knows_its_lines_before_and_after(partitioned: Capture) -> None:
    lines = {1024: find_line(partitioned, "hidden = "), 256: find_line(partitioned, "return hidden")}
    for module in (partitioned.unoptimized_module, partitioned.module):
        dots = [dot for dot in module.walk() if dot.opcode == "dot"]
        lines_by_size = {dot.shape.dimensions[-1]: partitioned.frames[dot.stack_frame or 0][0].line for dot in dots}
        assert lines_by_size == lines


def test_every_instruction_of_the_module_is_in_its_text() -> None:
    text = Frames().clean(
        "HloModule f\n\nENTRY %e (p: (f32[4], s32[])) -> f32[4] {\n  %p = (f32[4]{0}, s32[]) parameter(0)\n"
        "  ROOT %n = f32[4]{0} negate(%p#0)\n}\n"
    )
    instructions = parse_module(text).entry.instructions
    assert [i.name for i in instructions] == ["p", "p_0", "n"]
    assert [i.name for i in instructions if i.text not in text.splitlines()] == []
