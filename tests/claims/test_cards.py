"""What the ledger shows of a claim."""

from __future__ import annotations

from dataclasses import replace

from claims import cards
from claims.declared import read
from claims.finding import Verdict, cases, only
from claims.ledger import ClaimLedger, Entry

CLAIM = {claim.id: claim for claim in read()}["C15"]
ENTRY = Entry(CLAIM, cases({"cpu": (False, "2 kernels"), "h100": (False, "2 kernels"), "tpu-v5e": (True, "1 kernel")}))


def test_a_card_says_claim_verdict_cases_truth_and_where_it_is_shown() -> None:
    shown = cards.cards((ENTRY,))
    assert shown.endswith("{ .entry #C15 }\n")
    assert CLAIM.claim in shown
    assert CLAIM.truth in shown
    assert "\N{CIRCLE WITH LEFT HALF BLACK} depends on target" in shown
    assert "\N{BALLOT X} <b>CPU, NVIDIA H100:</b> 2 kernels" in shown
    assert "\N{CHECK MARK} <b>TPU v5e:</b> 1 kernel" in shown
    assert f"]({CLAIM.shown})" in shown
    assert '<a href="#checks-fusion"><code>layer_is_one_kernel</code></a>' in shown


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
    for claim in read():
        assert not claim.check or f"def {claim.check.partition('.')[2]}(" in shown
