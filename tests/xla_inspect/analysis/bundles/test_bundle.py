"""Listings of bundles: slots, labels and loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles import read_below
from xla_inspect.analysis.bundles.bundle import Slot, find_loops, parse_bundles

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

LISTING = """\
= control target key start
LB: loop body
= control target key end

     0   :  { %s9_s1 = smov.u32 0 /* copy for cssa */  ;;  %s4_s2 = inlined_call_operand.hbm [shape: f32[8], index: 0, kind: input, shape index: {}] /* operand 0 */ } /* entry bundle: %fusion = fusion(%x) :: Start region 2 */
   0x1 LB: > { %v3_v0 = vld [vmem:[%s4_s2] sm:$0xff]  ;;  %s5_s1 = sphi %s9_s1, %s6_s1 /* phi copy */ } /* Start region 7 :: Start region 8 */
   0x2   : > { %10 = vmatmul.bf16.gmra.mxu2 %v3_v0  ;;  %s6_s1 = sadd.s32 1, %s5_s1 /* copy for cssa */ }
   0x3   : > { %11 = dma.hbm_to_vmem [thread:$0]  (!%p2_p0), /*hbm=*/%s4_s2, /*size_in_granules=*/16 /*
base_bounds: (8, 1)
pad_low: (0, 0) */ }
   0x4   : > { %p7_p1 = scmp.ge.s32.totalorder %s6_s1, 12 /* loop exit test */ }
   0x5   : > { %12 = sbr.rel (!%p7_p1) target = $region7 }
   0x6   :  {}
   0x7   :  { %13 = vst [vmem:[%s4_s2] sm:$0xff] /*vst_source=*/%v3_v0 } /* exit bundle: %fusion = fusion(%x) */
"""  # noqa: E501 - as libtpu prints it


def test_a_bundle_is_read_with_its_slots_its_label_and_the_loops_that_it_is_in() -> None:
    bundles = parse_bundles(LISTING)
    assert [(bundle.address, bundle.label, bundle.depth, len(bundle.slots)) for bundle in bundles] == [
        (0, "", 0, 2),
        (1, "LB", 1, 2),
        (2, "", 1, 2),
        (3, "", 1, 1),
        (4, "", 1, 1),
        (5, "", 1, 1),
        (6, "", 0, 0),
        (7, "", 0, 1),
    ]
    assert bundles[2].slots[0] == Slot("vmatmul.bf16.gmra.mxu2", "", "%10 = vmatmul.bf16.gmra.mxu2 %v3_v0") or (
        bundles[2].slots[0].result,
        bundles[2].slots[0].number,
    ) == ("10", 2)
    assert "".join(LISTING[bundle.start : bundle.end] for bundle in bundles) == LISTING[LISTING.index("     0 ") :]


def test_comments_are_not_part_of_a_slot() -> None:
    texts = [slot.text for bundle in parse_bundles(LISTING) for slot in bundle.slots]
    assert [text for text in texts if "/*" in text or "bounds" in text] == []
    assert texts[-1] == "%13 = vst [vmem:[%s4_s2] sm:$0xff] %v3_v0"


def test_operations_are_assigned_to_units_and_names_take_no_slot() -> None:
    assert [dict(bundle.units) for bundle in parse_bundles(LISTING)] == [
        {"scalar": 1},
        {"load": 1},
        {"matmul": 1, "scalar": 1},
        {"dma": 1},
        {"scalar": 1},
        {"control": 1},
        {},
        {"store": 1},
    ]


def test_the_iterations_of_a_loop_follow_from_its_counter_or_are_unknown() -> None:
    (loop,) = find_loops(LISTING, parse_bundles(LISTING))
    assert (loop.first, loop.last, loop.depth, loop.trips, loop.bundles) == (1, 5, 1, 12, 5)
    for variant in (
        LISTING.replace("smov.u32 0 ", "smov.u32 3 "),
        LISTING.replace("sadd.s32 1,", "sadd.s32 2,"),
        LISTING.replace("%s6_s1, 12 ", "%s6_s1, %s4_s2 "),
    ):
        (loop,) = find_loops(variant, parse_bundles(variant))
        assert loop.trips is None


def test_a_forward_branch_is_not_a_loop() -> None:
    variant = LISTING.replace("target = $region7", "target = $region9")
    assert find_loops(variant, parse_bundles(variant)) == ()


def test_a_text_other_than_a_listing_has_no_bundles() -> None:
    assert parse_bundles("") == parse_bundles("HloModule m\n") == ()


def test_every_listing_of_every_generation_is_read_to_its_end(generations: Captures) -> None:
    for generation in generations.values():
        for kernel in read_below(generation):
            assert kernel.bundles[-1].end == len(kernel.low.bundles)
            assert not any("{" in slot.operation for bundle in kernel.bundles for slot in bundle.slots)
            listed = kernel.low.bundles[kernel.bundles[0].start :]
            assert listed.count(" ;; ") + sum(bool(bundle.slots) for bundle in kernel.bundles) == sum(
                len(bundle.slots) for bundle in kernel.bundles
            )
