"""The parts of kernels, and the readers of their results."""

from __future__ import annotations

from xla_inspect.analysis import KernelParts
from xla_inspect.hlo import parse_module

TEXT = """HloModule m, is_scheduled=true

%fused (p: f32[8,8]) -> f32[8] {
  %p = f32[8,8]{1,0} parameter(0)
  %zero = f32[] constant(0)
  %twice = f32[8,8]{1,0} add(%p, %p)
  ROOT %total = f32[8]{0} reduce(%twice, %zero), dimensions={1}, to_apply=%add
}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main (x: f32[8,8]) -> (f32[8], f32[8]) {
  %x = f32[8,8]{1,0} parameter(0)
  %one = f32[8]{0} fusion(%x), kind=kInput, calls=%fused
  %same = f32[8]{0} bitcast(%one)
  %two = f32[8]{0} negate(%same)
  %three = f32[8]{0} exponential(%one)
  ROOT %out = (f32[8], f32[8]) tuple(%two, %three)
}
"""

KERNELS = KernelParts(parse_module(TEXT))
ONE, TWO, THREE = KERNELS.launches


def test_the_hero_of_a_kernel_is_its_reduction() -> None:
    assert [part.name for part in KERNELS.parts(ONE)] == ["one", "twice", "total"]
    assert KERNELS.hero(ONE).name == "total"
    assert KERNELS.hero(TWO).name == "two"


def test_each_part_belongs_to_its_kernel_and_an_instruction_without_a_launch_to_none() -> None:
    kernels_by_name = {instruction.name: KERNELS.holder(instruction) for instruction in KERNELS.module.walk()}
    assert kernels_by_name["twice"] is ONE
    assert kernels_by_name["same"] is None


def test_readers_and_producers_are_found_behind_bitcasts_and_tuples() -> None:
    assert KERNELS.readers(ONE) == (TWO, THREE)
    assert KERNELS.feeders(TWO) == (ONE,)
    assert [launch.name for launch in KERNELS.arguments(ONE)] == ["x"]
    assert [KERNELS.is_returned(launch) for launch in KERNELS.launches] == [False, True, True]
