"""Dumps of one compilation use the same ids for call chains and contain every instruction."""

from __future__ import annotations

import pytest
from jax.sharding import PartitionSpec as P

from programs import mlp
from xla_inspect import Capture, capture
from xla_inspect.analysis import find_line
from xla_inspect.dumps import Frames, find_changes
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


@pytest.mark.parametrize(
    ("files", "names"),
    [
        pytest.param(
            [
                "0001.outer.after_first.before_second.txt",
                "0002.inner.after_pipeline-start.before_x.txt",
                "0003.inner.after_x.before_pipeline-end.txt",
                "0004.outer.after_second.before_pipeline-end.txt",
            ],
            ["first (outer)", "second (outer)", "x (inner)", "second (outer)"],
            id="a pass that runs a pipeline",
        ),
        pytest.param(
            [
                "0001.a.after_pipeline-start.before_one.txt",
                "0002.b.after_pipeline-start.before_two.txt",
                "0003.c.after_pipeline-start.before_three.txt",
                "0004.b.after_two.before_pipeline-end.txt",
                "0005.a.after_one.before_pipeline-end.txt",
            ],
            ["pipeline-start (a)", "one (a)", "two (b)", "two (b)", "one (a)"],
            id="pipelines in passes in passes",
        ),
        pytest.param(
            [
                "0001.a.after_one.before_two.txt",
                "0002.b.after_pipeline-start.before_x.txt",
                "0003.a.after_pipeline-start.before_one.txt",
                "0004.a.after_two.before_pipeline-end.txt",
            ],
            ["one (a)", "pipeline-start (b)", "pipeline-start (a)", "two (a)"],
            id="a pipeline that runs again",
        ),
        pytest.param(
            [
                "0001.a.after_one.before_b.txt",
                "0002.b.after_pipeline-start.before_x.txt",
                "0003.a.after_b.before_two.txt",
            ],
            ["one (a)", "pipeline-start (b)", "b (a)"],
            id="a pipeline as a pass",
        ),
        pytest.param(
            [
                "0001.a.after_one.before_two.txt",
                "0002.b.after_pipeline-start.before_x.txt",
                "0003.a.after_three.before_pipeline-end.txt",
            ],
            ["one (a)", "three (a)", "three (a)"],
            id="passes without a change",
        ),
        pytest.param(
            [
                "0001.copy-insertion.after_adding_copies.txt",
                "0002.b.after_pipeline-start.before_x.txt",
                "0003.copy-insertion.after_removing_copies.txt",
            ],
            ["adding_copies (copy-insertion)", "pipeline-start (b)", "removing_copies (copy-insertion)"],
            id="a pass with dumps of its own",
        ),
        pytest.param(
            ["0001.a.after_one.before_two.txt", "notes.txt", "0002.b.after_pipeline-start.before_x.txt"],
            ["one (a)", "pipeline-start (b)"],
            id="nothing after it, and another file",
        ),
    ],
)
def test_the_first_dump_of_a_pipeline_inside_a_pass_shows_the_change_of_the_pass(
    files: list[str], names: list[str]
) -> None:
    texts = [f"HloModule m\n\nENTRY %m {{ ROOT %x.{number} = f32[] parameter(0) }}" for number in range(len(files))]
    changes = find_changes(files, texts, "", (), Frames())
    assert [f"{change.name} ({change.pipeline})" for change in changes] == names


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu:8", "h100:8", "tpu-v5e:2x4"])
def test_the_partitioner_has_its_own_change(target: str) -> None:
    import jax

    x = jax.ShapeDtypeStruct((64, 32), "float32")
    partitioned = capture(lambda x: x.sum(), x, target=target, mesh={"data": 8}, specs=(P("data"),))
    first = next(step for step in partitioned.passes if "all-reduce" in step.text)
    assert first.name.endswith("spmd-partitioning")
