"""The bytes that each launch reads and writes, by memory."""

from __future__ import annotations

from collections import Counter

import pytest

from programs import layer, softmax
from xla_inspect import capture
from xla_inspect.analysis.traffic import Traffic, list_traffic, main_memory_bytes
from xla_inspect.hlo import parse_module

MODULE = """\
HloModule m

%fused (a: f32[8,4], b: f32[4]) -> f32[2,4] {
  %a = f32[8,4]{1,0} parameter(0)
  %b = f32[4]{0} parameter(1)
  %s = f32[2,4]{1,0} slice(%a), slice={[0:2], [0:4]}
  %w = f32[2,4]{1,0} broadcast(%b), dimensions={1}
  ROOT %p = f32[2,4]{1,0} add(%s, %w)
}

ENTRY %main (x: f32[8,4], y: f32[4]) -> f32[2,4] {
  %x = f32[8,4]{1,0} parameter(0)
  %y = f32[4]{0} parameter(1)
  %start = (f32[4]{0:S(1)}, f32[4]{0}, u32[]{:S(2)}) copy-start(%y)
  %done = f32[4]{0:S(1)} copy-done(%start)
  %f = f32[2,4]{1,0} fusion(%x, %done), kind=kLoop, calls=%fused
  ROOT %m = f32[2,4]{1,0} multiply(%f, %f)
}
"""


def test_a_launch_reads_each_operand_once_and_of_a_sliced_one_the_slice() -> None:
    assert list_traffic(parse_module(MODULE)) == (
        Traffic("start", Counter({0: 16}), Counter({1: 16}), 16),
        Traffic("f", Counter({0: 32, 1: 16}), Counter({0: 32}), 64),
        Traffic("m", Counter({0: 32}), Counter({0: 32}), 64),
    )


def test_a_slice_that_is_a_launch_of_its_own_reads_what_it_writes() -> None:
    last = "ROOT %m = f32[2,4]{1,0} multiply(%f, %f)"
    text = MODULE.replace(last, "ROOT %m = f32[1,4]{1,0} slice(%f), slice={[0:1], [0:4]}")
    assert list_traffic(parse_module(text))[-1] == Traffic("m", Counter({0: 16}), Counter({0: 16}), 32)


def test_an_asynchronous_slice_is_one_launch_that_reads_the_slice() -> None:
    text = """\
HloModule m

%aside (a: f32[8,4]) -> f32[2,4] {
  %a = f32[8,4]{1,0} parameter(0)
  ROOT %s = f32[2,4]{1,0:S(1)} slice(%a), slice={[0:2], [0:4]}
}

ENTRY %main (x: f32[8,4]) -> f32[2,4] {
  %x = f32[8,4]{1,0} parameter(0)
  %start = ((f32[8,4]{1,0}), f32[2,4]{1,0:S(1)}, s32[]{:S(2)}) async-start(%x), calls=%aside
  ROOT %done = f32[2,4]{1,0:S(1)} async-done(%start)
}
"""
    assert list_traffic(parse_module(text)) == (Traffic("s", Counter({0: 32}), Counter({1: 32}), 32),)


def test_only_values_in_main_memory_count_as_its_traffic() -> None:
    module = parse_module(MODULE)
    assert [traffic.main for traffic in list_traffic(module)] == [16, 64, 64]
    assert [traffic.total for traffic in list_traffic(module)] == [32, 80, 64]
    assert main_memory_bytes(module) == 144


def test_a_value_that_is_also_used_whole_counts_whole() -> None:
    text = MODULE.replace("add(%s, %w)", "add(%s, %z)").replace(
        "  %w = f32[2,4]{1,0} broadcast(%b), dimensions={1}",
        '  %z = f32[2,4]{1,0} custom-call(%a, %b), custom_call_target="all"',
    )
    assert list_traffic(parse_module(text))[1].read == Counter({0: 128, 1: 16})


@pytest.mark.parametrize("target", ["cpu", "h100"])
def test_the_compilers_own_cost_analysis_counts_the_same(target: str) -> None:
    for function, example in ((layer.layer, layer.EXAMPLE), (softmax.softmax, softmax.EXAMPLE)):
        program = capture(function, *example, target=target)
        assert main_memory_bytes(program.module) == program.cost.bytes_accessed


def test_a_tpu_reads_its_arguments_and_writes_its_result_once_when_all_is_one_fusion() -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e")
    assert main_memory_bytes(program.module) == program.memory.arguments + program.memory.outputs
