"""The stage of a dumped module is part of each answer, and no answer takes it for the optimized one."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis import find_stage
from xla_inspect.answers import write_json
from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.hlo import parse_module
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.diff import compare_captures
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.memory import explain_memory
from xla_inspect.questions.passes import explain_passes
from xla_inspect.questions.summary import summarize

if TYPE_CHECKING:
    from xla_inspect.answers import Answer
    from xla_inspect.captured import Capture

MESH = "{mesh['d'=8], [{'d'}, {}]}"
TILES = "{devices=[8,1]<=[8]}"
GIVEN = """HloModule jit_step, entry_computation_layout={(f32[4096,4096]{1,0})->f32[4096,4096]{1,0}}, num_partitions=8

ENTRY %main.1 (x.1: f32[4096,4096]) -> f32[4096,4096] {
  %x.1 = f32[4096,4096]{1,0} parameter(0), sharding=SHARDING, metadata={op_name="x"}
  %dot.1 = f32[4096,4096]{1,0} dot(%x.1, %x.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %tuple.1 = (f32[4096,4096]{1,0}, f32[4096,4096]{1,0}) tuple(%dot.1, %x.1), sharding={SHARDING, {replicated}}
}
"""
PARTITIONED = """HloModule jit_step, entry_computation_layout={(f32[512,4096])->f32[512,4096]}, num_partitions=8

ENTRY %main.1_spmd (x: f32[512,4096]) -> f32[512,4096] {
  %x = f32[512,4096]{1,0} parameter(0), metadata={op_name="x"}
  %all-gather = f32[4096,4096]{1,0} all-gather(%x), replica_groups=[1,8]<=[8], dimensions={0}
  ROOT %dot = f32[512,4096]{1,0} dot(%x, %all-gather), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
LOOSE = """HloModule loose, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main (x: f32[16]) -> f32[16] {
  %x = f32[16] parameter(0)
  %sum = f32[16] all-reduce(%x), replica_groups={{0,1},{2,3},{4,5},{6,7}}, to_apply=%add
  ROOT %sent = f32[16] collective-permute(%sum), source_target_pairs={{0,1},{1,0}}
}
"""
DUMPED = "module_0002.jit_step.0006.spmd-partitioner.after_spmd-partitioning.before_dce.txt"
FIRST, LAST = "module_0002.jit_step.before_optimizations.txt", "module_0002.jit_step.cpu_after_optimizations.txt"


def read_files(files: dict[str, bytes]) -> Capture:
    result = Files.from_mapping(files)
    return read_capture(result, list_modules(result)[0])


def tell(answer: Answer) -> str:
    return " ".join(str(answer).split())


def spread(text: str, sharding: str = MESH) -> str:
    return text.replace("SHARDING", sharding)


@pytest.mark.parametrize(
    ("name", "text", "stage", "shapes"),
    [
        (FIRST, spread(GIVEN), "before the optimizations", "global"),
        ("pasted.txt", spread(GIVEN, TILES).replace(", num_partitions=8", ""), "before the optimizations", "global"),
        (LAST, spread(GIVEN), "unknown", "global"),
        (DUMPED, PARTITIONED, "between passes", "of one device"),
        ("pasted.txt", PARTITIONED, "unknown", "of one device"),
        (DUMPED, spread(GIVEN), "between passes", "global"),
        ("pasted.txt", LOOSE, "unknown", "unknown"),
        ("a.before_optimizations.txt", LOOSE, "before the optimizations", "global"),
        ("pasted.txt", PARTITIONED.replace("jit_step,", "jit_step, is_scheduled=true,"), "optimized", "of one device"),
        (LAST, PARTITIONED, "optimized", "of one device"),
    ],
)
def test_the_stage_is_decided_by_the_module_and_then_by_its_name(name: str, text: str, stage: str, shapes: str) -> None:
    result = find_stage(read_files({name: text.encode()}))
    assert (result.name, result.shapes, result.devices) == (stage, shapes, 8)
    assert result.last_pass == ("spmd-partitioning" if name == DUMPED else "")


@pytest.mark.parametrize("sharding", [MESH, TILES, "{devices=[8,1,2]<=[16] last_tile_dim_replicate}"])
def test_memory_before_the_partitioner_is_that_of_the_shards(sharding: str) -> None:
    used = explain_memory(read_files({FIRST: spread(GIVEN, sharding).encode()}), "")
    # An argument and a result in 8 parts, and a result that each device has whole.
    assert (used.needed_bytes, used.global_bytes) == ((8 + 8 + 64) << 20, 192 << 20)
    text = tell(used)
    assert "the arguments and results have 192 MiB in total" in text
    assert "f32[512,4096] of f32[4096,4096]" in text
    assert "per device: " not in text


def test_what_has_no_known_sharding_counts_whole_and_is_said_to() -> None:
    used = explain_memory(read_files({FIRST: spread(GIVEN, "{odd}").encode()}), "")
    assert used.unknown_shards == 2
    assert "at most 192 MiB, since the module has no sharding for 2 arguments and results" in tell(used)


@pytest.mark.parametrize("files", [{FIRST: spread(GIVEN)}, {DUMPED: PARTITIONED}, {"pasted.txt": LOOSE}])
def test_before_fusion_no_answer_has_kernels_and_each_has_the_stage(files: dict[str, str]) -> None:
    capture = read_files({name: text.encode() for name, text in files.items()})
    stage = find_stage(capture)
    kernels, numbers = rank_launches(capture), summarize("jit_step", [capture], "")
    assert not kernels.launches
    assert (numbers.targets[0].kernels, numbers.targets[0].flops, numbers.targets[0].moved_bytes) == (None,) * 3
    exchanged, used = find_exchanges("jit_step", capture, {}), explain_memory(capture, "")
    for answer in (kernels, numbers, exchanged, used, explain_passes("jit_step", capture, "")):
        assert stage.title in tell(answer), answer
        assert f'"name": "{stage.name}"' in write_json(answer)


def test_collectives_before_the_partitioner_are_not_there_yet() -> None:
    text = tell(find_exchanges("jit_step", read_files({FIRST: spread(GIVEN).encode()}), {}))
    assert "no collectives yet" in text
    assert "Later, the partitioner adds the others that the 8 devices need." in text
    assert "nothing is exchanged" not in text


def test_the_members_of_groups_are_told_and_what_nothing_explains_is_a_sentence() -> None:
    answer = find_exchanges("loose", read_files({"pasted.txt": LOOSE.encode()}), {})
    assert {exchange.groups for exchange in answer.exchanges} == {((0, 1), (2, 3), (4, 5), (6, 7)), ()}
    text = tell(answer)
    assert "Devices: {0, 1}, {2, 3}, {4, 5}, {6, 7}." in text
    assert "Devices: 0 to 1, 1 to 0." in text
    assert "The module gives no reason." in text


def test_two_programs_before_the_optimizations_differ_at_an_instruction() -> None:
    before = read_files({FIRST: spread(GIVEN).encode()})
    right = read_files({FIRST: spread(GIVEN).replace("tuple(%dot.1, %x.1)", "tuple(%x.1, %dot.1)").encode()})
    other = read_files({FIRST: spread(GIVEN).replace("lhs_contracting_dims={1}", "lhs_contracting_dims={0}").encode()})
    for changed, name in ((right, "tuple"), (other, "dot")):
        answer = compare_captures(before, changed, ("a", "b"))
        assert (answer.holds, answer.is_same_code) == (False, False)
        text = tell(answer)
        assert "the programs differ in 1 instruction" in text
        assert name in answer.instructions[0].left
        assert "StableHLO" not in text
        assert "The compiler and the options of the files are not known." in text
    assert compare_captures(before, before, ("a", "b")).holds


def test_modules_of_two_stages_compare_by_their_instructions() -> None:
    before = read_files({FIRST: spread(GIVEN).encode()})
    answer = compare_captures(before, read_files({LAST: PARTITIONED.encode()}), ("a", "b"))
    assert (answer.holds, answer.is_same_code) == (False, None)
    text = tell(answer)
    assert "two stages of a compilation, with 3 and 3 instructions" in text
    assert "The modules are before the optimizations and optimized, respectively." in text
    assert json.loads(write_json(answer))["left"]["stage"]["shapes"] == "global"


@pytest.mark.parametrize("pack", [False, True])
def test_each_file_of_a_set_is_listed_or_left_out_with_a_reason(*, pack: bool) -> None:
    contents = {
        FIRST: spread(GIVEN),
        "hang.txt": LOOSE,
        "notes.md": "hello",
        "empty.txt": "",
        "a.mlir": "module {\n}\n",
    }
    files = Files.from_mapping({name: text.encode() for name, text in contents.items()})
    if pack:
        from .test_archive import pack_tar

        files = Files.from_archive(pack_tar({name: text.encode() for name, text in contents.items()}))
    assert {module.name for module in list_modules(files)} == {"jit_step", "loose"}
    assert {*files.left_out} == {"notes.md", "empty.txt", "a.mlir"}


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f() {\n  func.return\n}\n",
        "module {\n}\n",
        "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n  stablehlo.while\n    cond {\n    }\n}\n",
        '"builtin.module"() ({\n}) : () -> ()\n',
    ],
)
def test_mlir_is_not_taken_for_hlo(text: str) -> None:
    with pytest.raises(InspectError, match=r"needs a compiler; run: xla-inspect summary a\.txt$"):
        list_modules(Files.from_mapping({"a.txt": text.encode()}, "a.txt"))


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("ENTRY", "it ends before the ENTRY computation"),
        ("all-reduce(", "in the middle of computation 'main', which starts on line 9"),
        ("ROOT %s =", "in the middle of computation 'add', which starts on line 3"),
    ],
)
def test_a_text_that_is_cut_off_is_said_to_be(end: str, message: str) -> None:
    text = LOOSE.replace("loose,", "loose, entry_computation_layout={(f32[16]{0})->f32[16]{0}},")
    with pytest.raises(InspectError, match="the text is cut off") as refused:
        parse_module(text[: text.index(end)])
    assert message in str(refused.value)


def test_a_scheduled_module_below_a_comment_is_the_optimized_one() -> None:
    capture = read_files(
        {"a.txt": ("\n// a comment\n" + LOOSE.replace("loose,", "loose, is_scheduled=true,")).encode()}
    )
    assert (find_stage(capture).name, "after" in capture.missing) == ("optimized", False)


def test_the_devices_of_all_replicas_are_counted_and_their_shapes_are_those_of_one_device() -> None:
    stage = find_stage(read_files({"a.txt": LOOSE.replace("num_partitions", "replica_count").encode()}))
    assert (stage.devices, stage.shapes) == (8, "of one device")


def test_a_module_whose_values_have_no_bytes_needs_no_memory() -> None:
    capture = read_files({"a.txt": b"HloModule m\n\nENTRY main {\n  ROOT t = token[] after-all()\n}\n"})
    assert "needs 0 B per device" in tell(explain_memory(capture, "m"))


def test_a_module_without_lines_is_not_searched_for_the_line_of_each_collective(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = ["x", *(f"s{number}" for number in range(60))]
    sums = [f"  {new} = f32[16] all-reduce({old}), to_apply=add" for old, new in pairwise(values)]
    head, entry = LOOSE.replace("%", "").split("ENTRY")
    parameter = entry.split("\n")[1]
    text = f"{head}ENTRY main {{\n{parameter}\n" + "\n".join(sums) + "\n}\n"
    visits = list[str]()
    find_frame = "xla_inspect.questions.collectives.finding.find_frame"
    monkeypatch.setattr(find_frame, lambda _, instruction: visits.append(instruction.name))
    exchanges = find_exchanges("loose", read_files({"a.txt": text.encode()}), {})
    assert (len(exchanges.exchanges), len(visits) < 6 * 60) == (60, True)


def test_a_fusion_with_more_operands_than_its_computation_stops_no_answer() -> None:
    head = "HloModule m, is_scheduled=true\n\nf {\n  ROOT a = f32[8] parameter(0)\n}\n"
    values = "  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n"
    text = f"{head}\nENTRY e {{\n{values}  ROOT r = f32[8] fusion(x, y), kind=kLoop, calls=f\n}}\n"
    capture = read_files({"a.txt": text.encode()})
    assert "1 kernel on unknown hardware" in tell(summarize("m", [capture], "m"))


def test_a_send_exchanges_its_data_and_not_its_token() -> None:
    pairs = "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}"
    send = f"ROOT %sent = (f32[16], u32[], token[]) send(%x, %t), {pairs}\n}}\n"
    text = f"{LOOSE[: LOOSE.index('  %sum')]}  %t = token[] after-all()\n  {send}"
    (exchange,) = find_exchanges("m", read_files({"a.txt": text.encode()}), {}).exchanges
    assert exchange.shapes == ("f32[16]",)


NEVER = """HloModule never, is_scheduled=true, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%body (p: (s32[], f32[1024])) -> (s32[], f32[1024]) {
  %p = (s32[], f32[1024]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[1024] get-tuple-element(%p), index=1
  %start = f32[1024] all-reduce-start(%x), replica_groups={{0,1,2,3}}, channel_id=1, to_apply=%add
  %e = f32[1024] exponential(%x)
  %sum = f32[1024] all-reduce-done(%start)
  %g = f32[1024] add(%sum, %e)
  ROOT %t = (s32[], f32[1024]) tuple(%i, %g)
}

%condition (p: (s32[], f32[1024])) -> pred[] {
  %p = (s32[], f32[1024]) parameter(0)
  ROOT %f = pred[] constant(false)
}

ENTRY %main (a: s32[], x: f32[1024]) -> (s32[], f32[1024]) {
  %a = s32[] parameter(0)
  %x = f32[1024] parameter(1)
  %t = (s32[], f32[1024]) tuple(%a, %x)
  ROOT %w = (s32[], f32[1024]) while(%t), condition=%condition, body=%body, backend_config={TRIPS}
}
"""


def test_work_beside_a_collective_has_no_number_if_it_is_not_known() -> None:
    text = NEVER.replace("TRIPS", "").replace("exponential(%x)", 'custom-call(%x), custom_call_target="mine"')
    exchanges = find_exchanges("m", read_files({"a.txt": text.encode()}).retold(target="h100:4"), {})
    assert [exchange.meanwhile and exchange.meanwhile.unknown_work for exchange in exchanges.exchanges] == [("mine",)]
    assert "1 of 1 1 0 + ?" in tell(exchanges)


def test_work_beside_a_collective_in_a_loop_that_never_runs_takes_no_time() -> None:
    text = NEVER.replace("TRIPS", '"known_trip_count":{"n":"0"}')
    (exchange,) = find_exchanges("m", read_files({"a.txt": text.encode()}).retold(target="h100:4"), {}).exchanges
    assert (exchange.runs, exchange.sent_bytes > 0) == (0, True)
    assert exchange.meanwhile is not None
    assert (exchange.meanwhile.kernels, exchange.meanwhile.seconds) == (1, 0.0)
