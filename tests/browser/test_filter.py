"""The list of opcodes is filtered as one types, by keyboard alone, and said aloud; without JavaScript it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.hlo import CATEGORIES, OPCODES

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener

PAGE = "operations/index.html"


@pytest.fixture
def page(open_page: Opener) -> Page:
    """The page with the list."""
    return open_page(PAGE)


def left(page: Page) -> list[str]:
    """Return the opcodes that are shown."""
    names: list[str] = page.eval_on_selector_all(
        "details.opcode", "rows => rows.filter(row => row.offsetParent).map(row => row.id.slice(3))"
    )
    return names


def test_every_opcode_is_there_until_one_types(page: Page) -> None:
    assert sorted(left(page)) == sorted(OPCODES)
    assert page.locator(".filter [role=status]").inner_text() == ""


def test_typing_leaves_what_matches_every_word_and_says_how_many(page: Page) -> None:
    page.get_by_label("Filter").fill("RAGGED all-to-all")
    assert left(page) == ["ragged-all-to-all"]
    assert page.locator(".filter [role=status]").inner_text() == f"1 of {len(OPCODES)} opcodes"
    headings = {heading.get_attribute("id") for heading in page.locator("h3:visible").all()}
    assert headings & {name.replace(" ", "-") for name in CATEGORIES} == {"communication"}


def test_a_category_and_a_call_are_found_too(page: Page) -> None:
    page.get_by_label("Filter").fill("batch norm")
    assert left(page) == ["batch-norm-grad", "batch-norm-inference", "batch-norm-training"]
    page.get_by_label("Filter").fill("lax.psum(")
    assert left(page) == ["all-reduce"]


def test_what_nothing_matches_leaves_nothing_and_says_so(page: Page) -> None:
    page.get_by_label("Filter").fill("<b>frobnicate</b>")
    assert left(page) == []
    assert page.locator(".filter [role=status]").inner_text() == f"0 of {len(OPCODES)} opcodes"


def test_the_keyboard_reaches_the_box_opens_what_is_found_and_clears(page: Page) -> None:
    box = page.get_by_label("Filter")
    box.focus()
    page.keyboard.type("cholesky")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.id") == "op-cholesky"
    page.keyboard.press("Enter")
    assert page.locator("#op-cholesky pre").first.is_visible()
    box.focus()
    page.keyboard.press("Escape")
    assert box.input_value() == ""
    assert len(left(page)) == len(OPCODES)


def test_a_link_to_an_opcode_that_is_filtered_away_shows_it(page: Page) -> None:
    page.get_by_label("Filter").fill("cholesky")
    page.evaluate("location.hash = 'op-dot'")
    page.locator("#op-dot").wait_for(state="visible")


def test_the_count_is_announced_without_taking_the_focus(page: Page) -> None:
    status = page.locator(".filter p")
    assert status.get_attribute("role") == "status"  # an aria-live region, polite


def test_without_javascript_there_is_no_box_and_the_list_is_whole(open_page: Opener) -> None:
    page = open_page(PAGE, java_script_enabled=False)
    assert page.locator(".filter").count() == 0
    assert page.locator("details.opcode").count() == len(OPCODES)
    assert page.locator("details.opcode").first.is_visible()


def test_another_page_has_no_box(open_page: Opener) -> None:
    assert open_page("glossary/index.html").locator(".filter").count() == 0
