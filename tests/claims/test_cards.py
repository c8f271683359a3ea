"""The card of a claim, and the picture of all claims."""

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


def test_a_card_shows_claim_verdict_cases_truth_and_section() -> None:
    html = cards.cards((ENTRY,))
    assert html.endswith("{ .entry #layer-is-one-kernel }\n")
    assert CLAIM.claim in html
    assert CLAIM.truth in html
    assert "\N{CIRCLE WITH LEFT HALF BLACK} depends on target" in html
    assert "\N{BALLOT X} <b>CPU, NVIDIA H100:</b> 2 kernels" in html
    assert "\N{CHECK MARK} <b>TPU v5e:</b> 1 kernel" in html
    assert f"]({CLAIM.shown})" in html
    assert '<a href="#checks-fusion"><code>layer_is_one_kernel</code></a>' in html


def test_the_verdict_of_a_card_links_to_the_card() -> None:
    assert f"depends on target](#{CLAIM.id})" in cards.cards((ENTRY,))


def test_a_claim_heard_everywhere_is_plotted_with_the_actual_numbers() -> None:
    compared_entry = replace(ENTRY, claim=FAMOUS, finding=FINDING.compared("kernels", 1, {"cpu": 4, "tpu-v5e": 1}))
    html = cards.cards((compared_entry,))
    assert '<span>CPU</span><span class="track"><span class="found" style="width:100.0%">' in html
    assert '<span class="said" style="left:25.0%"></span></span><span>4, not 1</span>' in html
    assert "<span>1, as claimed</span>" in html
    assert '"compared"' not in cards.cards((ENTRY,))


def test_a_claim_heard_everywhere_without_numbers_fails() -> None:
    with pytest.raises(ClaimError, match=rf"^{CLAIM.place}: {CLAIM.id} is heard everywhere, but its check returns no"):
        cards.cards((replace(ENTRY, claim=FAMOUS),))


def test_case_names_are_escaped_and_bytes_use_larger_units() -> None:
    chart = cards.draw_compared(Comparison("bytes", {"<b>": 0}, {"<b>": 2048}))
    assert "<span>&lt;b&gt;</span>" in chart
    assert "<span>2 KiB, not 0 B</span>" in chart


def test_a_chapter_lists_common_claims_and_folds_the_others() -> None:
    entries = [replace(ENTRY, claim=replace(CLAIM, id=f"claim-{how or 'folded'}", heard=how)) for how in HEARD]
    listed, _, folded = cards.list_chapter(ClaimLedger(tuple(entries)), "fusion").partition(
        '??? listing "1 less common'
    )
    names = ("claim-everywhere", "claim-often", "claim-folded")
    assert [name for name in names if name in listed] == ["claim-often"]
    assert [name for name in names if name in folded] == ["claim-folded"]
    assert "2 kernels" in folded
    texts = {name: text for name, _, text in cards.list_entries(tuple(entries))}
    assert tuple(texts) == names
    assert [CLAIM.truth in text for text in texts.values()] == [True, True, False]


def test_a_claim_without_a_check_links_to_its_source() -> None:
    html = cards.cards((Entry(replace(CLAIM, check="", source="https://example.org/")),))
    assert "[Source, not run here](https://example.org/)" in html
    assert "unchecked" in html


def test_equal_results_of_a_target_are_merged() -> None:
    finding = cases(
        {f"{target}, {dtype}": (True, "kept") for target in ("cpu", "h100") for dtype in ("int32", "float32")}
    )
    assert "<b>CPU, NVIDIA H100:</b> kept" in cards.cards((Entry(CLAIM, finding),))


def test_a_different_result_of_one_element_type_has_its_own_label() -> None:
    finding = cases({"cpu, int32": (True, "kept"), "cpu, float32": (False, "gone")})
    assert "<b>CPU int32:</b> kept" in cards.cards((Entry(CLAIM, finding),))


def test_the_picture_counts_each_verdict_and_marks_claims_without_a_check() -> None:
    sourced = Entry(replace(CLAIM, check="", source="https://example.org/", verdict=Verdict.TRUE))
    html = cards.picture(ClaimLedger((ENTRY, ENTRY, Entry(CLAIM, only(holds=True, evidence="seen")), sourced)))
    assert '<a href="#fusion">Fusion</a>' in html
    assert '<span class="depends" style="flex-grow:2">' in html
    assert '<span class="true" style="flex-grow:1">' in html
    assert '<span class="true unchecked" style="flex-grow:1">' in html


def test_the_source_of_every_check_is_shown() -> None:
    html = cards.checks()
    for claim in read_claims():
        assert not claim.check or f"def {claim.check.partition('.')[2]}(" in html
