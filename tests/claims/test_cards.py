"""What the ledger shows of a claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from claims import cards
from claims.declared import HEARD, ClaimError, read_claims
from claims.finding import Comparison, Verdict, cases, only
from claims.ledger import ClaimLedger, Entry

FAMOUS = {claim.id: claim for claim in read_claims()}["layer-is-one-kernel"]
CLAIM = replace(FAMOUS, heard=HEARD[1])
FINDING = cases({"cpu": (False, "2 kernels"), "h100": (False, "2 kernels"), "tpu-v5e": (True, "1 kernel")})
ENTRY = Entry(CLAIM, FINDING)


def test_a_card_says_claim_verdict_cases_truth_and_where_it_is_shown() -> None:
    shown = cards.cards((ENTRY,))
    assert shown.endswith("{ .entry #layer-is-one-kernel }\n")
    assert CLAIM.claim in shown
    assert CLAIM.truth in shown
    assert "\N{CIRCLE WITH LEFT HALF BLACK} depends on target" in shown
    assert "\N{BALLOT X} <b>CPU, NVIDIA H100:</b> 2 kernels" in shown
    assert "\N{CHECK MARK} <b>TPU v5e:</b> 1 kernel" in shown
    assert f"]({CLAIM.shown})" in shown
    assert '<a href="#checks-fusion"><code>layer_is_one_kernel</code></a>' in shown


def test_the_verdict_of_a_card_leads_to_the_card_itself() -> None:
    assert f"depends on target](#{CLAIM.id})" in cards.cards((ENTRY,))


def test_a_claim_heard_everywhere_is_drawn_beside_what_was_found() -> None:
    drawn = replace(ENTRY, claim=FAMOUS, finding=FINDING.compared("kernels", 1, {"cpu": 4, "tpu-v5e": 1}))
    shown = cards.cards((drawn,))
    assert '<span>CPU</span><span class="track"><span class="found" style="width:100.0%">' in shown
    assert '<span class="said" style="left:25.0%"></span></span><span>4, not 1</span>' in shown
    assert "<span>1, as said</span>" in shown
    assert '"compared"' not in cards.cards((ENTRY,))


def test_a_claim_heard_everywhere_whose_check_compares_nothing_is_named() -> None:
    with pytest.raises(ClaimError, match=rf"^{CLAIM.place}: {CLAIM.id} is heard everywhere, and its check compares no"):
        cards.cards((replace(ENTRY, claim=FAMOUS),))


def test_names_of_cases_and_units_are_escaped_and_bytes_are_said_in_larger_units() -> None:
    drawn = cards.draw_compared(Comparison("bytes", {"<b>": 0}, {"<b>": 2048}))
    assert "<span>&lt;b&gt;</span>" in drawn
    assert "<span>2 KiB, not 0 B</span>" in drawn


def test_a_chapter_lists_what_one_hears_often_and_the_rest_is_counted_only() -> None:
    entries = [replace(ENTRY, claim=replace(CLAIM, id=f"claim-{how or 'counted'}", heard=how)) for how in HEARD]
    shown = cards.list_chapter(ClaimLedger(tuple(entries)), "fusion")
    assert [name for name in ("claim-everywhere", "claim-often", "claim-counted") if name in shown] == ["claim-often"]
    assert [name for name, _, _ in cards.list_entries(tuple(entries))] == ["claim-everywhere", "claim-often"]


def test_a_claim_that_no_check_decides_says_so_and_names_its_source() -> None:
    shown = cards.cards((Entry(replace(CLAIM, check="", source="https://example.org/")),))
    assert "not run here; [source](https://example.org/)" in shown
    assert "unchecked" in shown


def test_types_of_one_target_that_came_out_alike_are_said_once() -> None:
    finding = cases(
        {f"{target}, {dtype}": (True, "kept") for target in ("cpu", "h100") for dtype in ("int32", "float32")}
    )
    assert "<b>CPU, NVIDIA H100:</b> kept" in cards.cards((Entry(CLAIM, finding),))


def test_one_type_that_came_out_differently_is_named() -> None:
    finding = cases({"cpu, int32": (True, "kept"), "cpu, float32": (False, "gone")})
    assert "<b>CPU int32:</b> kept" in cards.cards((Entry(CLAIM, finding),))


def test_the_picture_counts_each_verdict_and_marks_what_no_check_decides() -> None:
    sourced = Entry(replace(CLAIM, check="", source="https://example.org/", verdict=Verdict.TRUE))
    shown = cards.picture(ClaimLedger((ENTRY, ENTRY, Entry(CLAIM, only(holds=True, evidence="seen")), sourced)))
    assert '<a href="#fusion">Fusion</a>' in shown
    assert '<span class="depends" style="flex-grow:2">' in shown
    assert '<span class="true" style="flex-grow:1">' in shown
    assert '<span class="true unchecked" style="flex-grow:1">' in shown


def test_the_source_of_every_check_is_shown() -> None:
    shown = cards.checks()
    for claim in read_claims():
        assert not claim.check or f"def {claim.check.partition('.')[2]}(" in shown
