"""The ledger in a browser: filters by words, verdict and number, and an address for each claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from claims.declared import read_claims
from claims.finding import Verdict

from .waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener

pytestmark = pytest.mark.long("otherwise one search and one notebook stand for all")

PATH = "ledger/index.html"
CLAIMS = read_claims()
COMMON_CLAIMS = [claim for claim in CLAIMS if claim.heard]


@pytest.fixture
def page(open_page: Opener) -> Page:
    """The ledger."""
    return open_page(PATH)


def left(page: Page) -> list[str]:
    """Return the claims that are shown."""
    names: list[str] = page.eval_on_selector_all(
        ".entry", "rows => rows.filter(row => row.checkVisibility()).map(row => row.id)"
    )
    return names


def test_without_a_filter_common_claims_are_shown_and_the_others_are_folded(page: Page) -> None:
    assert sorted(left(page)) == sorted(claim.id for claim in COMMON_CLAIMS)
    page.evaluate("document.querySelectorAll('details:has(.entry)').forEach(fold => fold.open = true)")
    assert sorted(left(page)) == sorted(claim.id for claim in CLAIMS)


def test_typing_filters_claims_by_every_word_and_shows_the_count(page: Page) -> None:
    page.get_by_label("Filter").fill("H100 scatter")
    assert left(page) == ["koutput-is-scatter"]
    assert page.locator(".filter [role=status]").inner_text() == f"1 of {len(CLAIMS)} claims"
    assert [heading.get_attribute("id") for heading in page.locator("h2:has(~ ul .entry):visible").all()][-1:] == [
        "fusion"
    ]


def test_a_verdict_is_a_word_to_filter_by(page: Page) -> None:
    page.get_by_label("Filter").fill("outdated")
    assert set(left(page)) >= {claim.id for claim in CLAIMS if claim.verdict == Verdict.OUTDATED}
    assert len(left(page)) < len(CLAIMS) / 2


def test_a_claim_has_an_address_and_its_check_another(open_page: Opener) -> None:
    page = open_page(f"{PATH}#layer-is-one-kernel")
    wait_until(page, "Math.abs(document.getElementById('layer-is-one-kernel').getBoundingClientRect().top) < 120")
    page.locator("#layer-is-one-kernel .from a").last.click()
    wait_until(page, "Math.abs(document.getElementById('checks-fusion').getBoundingClientRect().top) < 120")


def test_a_verdict_is_shown_as_text_and_not_only_by_color(page: Page) -> None:
    rows = page.eval_on_selector_all(
        ".entry", "rows => rows.map(row => [row.id, row.querySelector('.verdict').textContent])"
    )
    assert {name: text.split(maxsplit=1)[1] for name, text in rows} == {
        claim.id: str(claim.verdict) for claim in CLAIMS
    }
