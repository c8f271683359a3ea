"""Libtpu's reports on units, critical paths and schedules are parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis.bundles import PARTS, UNITS, read_below
from xla_inspect.analysis.bundles.usage import Utilization, parse_chains, parse_schedule, parse_utilization

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

COUNTED = """\
== CAPACTIY:
MATMUL, VALU, VLOAD, VLOAD:FILL
    4     2     3     3
== UTILIZATION:
0 2 3 1
4 0 0 0
4 1 0 0
2 1 0 0
"""
CHAINS = """
New basic block in region: region2 {members=197 hlo=fusion parent=0}
  Length to end: 3, %s5 = smov.u32 [#allocation2]
  Length to end: 1, %s13 = sshll.u32 %s5, 4

New basic block in region: region24 {members=7 hlo=fusion parent=2}
  Length to end: 202, %40 = dma.done (%p57), %s123, 32
  Length to end: 195, %v524 = vld [vmem:[%s1 + $0xe0] sm:$0xff]
  Length to end: 1, %303 = vst [vmem:[#allocation7] sm:$0xff]
"""
SCHEDULE = """\
Schedule analysis:
\ttotal scheduled bundles:    84
\tempty scheduled bundles:    2
\tnon empty scheduled bundles: 82
\t  80.00 scheduled bundles (97.56%): %fusion.1 = f32[64] fusion(%x.1), kind=kOutput, metadata={op_name="jit(f)/dot" stack_frame_id=1}
\t   2.00 scheduled bundles ( 2.44%): <no hlo>
\t[opcode]      84 scheduled bundles (100.00%): fusion               (1 instances,  84.00 avg)
"""  # noqa: E501 - as libtpu prints it


def test_used_slots_are_counted_by_unit() -> None:
    utilization = parse_utilization(COUNTED)
    assert utilization.slots == {"MATMUL": 4, "VALU": 2, "VLOAD": 3, "VLOAD:FILL": 3}
    assert utilization.used == {"MATMUL": 10, "VALU": 4, "VLOAD": 3, "VLOAD:FILL": 1}
    assert utilization.shares == pytest.approx({"MATMUL": 10 / 16, "VALU": 0.5, "VLOAD": 0.25, "VLOAD:FILL": 1 / 12})
    assert utilization.busiest == "MATMUL"


def test_the_use_of_a_unit_is_given_for_equal_parts_of_a_kernel() -> None:
    capacity = parse_utilization(COUNTED)
    assert capacity.follow("MATMUL", 2) == (0.5, 0.75)
    assert capacity.follow("MATMUL", 100) == (0, 1, 1, 0.5)


def test_an_empty_text_has_no_utilization() -> None:
    utilization = parse_utilization("")
    assert (utilization, utilization.busiest, dict(utilization.used)) == (Utilization({}, ()), "", {})


def test_each_step_of_a_chain_lasts_until_the_next_one_starts() -> None:
    short, long = parse_chains(CHAINS)
    assert (short.region, short.cycles, long.region, long.cycles) == ("region2", 3, "region24", 202)
    assert [(step.operation, step.left, step.cycles) for step in long.steps] == [
        ("dma.done", 202, 7),
        ("vld", 195, 194),
        ("vst", 1, 1),
    ]
    assert [step.mnemonic.unit.key for step in long.steps if step.mnemonic] == ["sync", "load", "store"]


def test_a_schedule_names_the_instructions_of_its_bundles() -> None:
    schedule = parse_schedule(SCHEDULE)
    assert (schedule.bundles, schedule.empty, schedule.op_names) == (84, 2, {"fusion.1": "jit(f)/dot"})
    assert parse_schedule("").bundles == 0


def test_each_generation_counts_only_known_units(generations: Captures) -> None:
    for generation in generations.values():
        for kernel in read_below(generation):
            assert {*kernel.utilization.slots} <= {*UNITS, *PARTS}
            assert all(0 <= share <= 1 for share in kernel.utilization.shares.values())
