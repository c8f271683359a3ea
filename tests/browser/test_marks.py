"""The mark of a check opens its claim and code by mouse and keyboard, and exact bytes show on focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import CHAPTER
from .test_access import judge
from .visits import PHONE, WIDE, Look

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from .conftest import Anew

OPEN = "section.check:popover-open"


def find_mark(page: Page) -> Locator:
    """Return the mark of an open check on the page."""
    return page.locator("article > p .checked").nth(1)


def test_a_click_opens_the_claim_with_its_code_and_another_closes_it(open_anew: Anew) -> None:
    page = open_anew(CHAPTER)
    mark = find_mark(page)
    mark.click()
    opened = page.locator(OPEN)
    assert opened.locator(".claim").inner_text() == mark.get_attribute("aria-label")
    assert "assert" in opened.locator("pre").inner_text()
    mark.click()
    assert page.locator(OPEN).count() == 0


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_key_opens_it_and_escape_closes_it_and_gives_the_focus_back(open_anew: Anew, key: str) -> None:
    page = open_anew(CHAPTER)
    mark = find_mark(page)
    mark.focus()
    page.keyboard.press(key)
    assert page.locator(OPEN).count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate(f"!!document.activeElement.closest('{OPEN}')")
    page.keyboard.press("Escape")
    assert page.locator(OPEN).count() == 0
    assert mark.evaluate("mark => mark === document.activeElement")


def test_without_javascript_it_opens_too(open_anew: Anew) -> None:
    page = open_anew(CHAPTER, Look(javascript=False))
    find_mark(page).click()
    assert page.locator("section.check .claim >> visible=true").count() == 1


def test_it_opens_beside_its_mark_and_inside_the_window(open_anew: Anew) -> None:
    page = open_anew(CHAPTER)
    mark = find_mark(page)
    mark.click()
    card, tick = page.locator(OPEN).bounding_box(), mark.bounding_box()
    assert card is not None
    assert tick is not None
    assert min(abs(card["y"] - tick["y"] - tick["height"]), abs(tick["y"] - card["y"] - card["height"])) < 20
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= WIDE


def test_on_a_phone_it_is_a_sheet_at_the_bottom_with_a_button_that_closes_it(open_anew: Anew) -> None:
    page = open_anew(CHAPTER, Look(PHONE, "dark"))
    find_mark(page).click()
    card = page.locator(OPEN).bounding_box()
    assert card is not None
    assert (card["x"], card["width"]) == (0, PHONE)
    assert card["y"] + card["height"] == page.evaluate("innerHeight")
    page.locator(f"{OPEN} .close").click()
    assert page.locator(OPEN).count() == 0


@pytest.mark.parametrize("look", [Look(), Look(PHONE, "dark")])
def test_axe_finds_nothing_in_a_check_that_stands_open(open_anew: Anew, look: Look) -> None:
    page = open_anew(CHAPTER, look)
    find_mark(page).click()
    assert page.locator(OPEN).count() == 1
    # Of the page behind, what the card covers in part would be found too small.
    assert judge(page, OPEN) == []


def test_a_mark_is_large_enough_to_tap(open_anew: Anew) -> None:
    boxes = [mark.bounding_box() for mark in open_anew(CHAPTER).locator("article > p .checked").all()]
    assert [box for box in boxes if box is None or box["width"] < 24 or box["height"] < 24] == []
    assert len(boxes) > 5
