"""The explanation of a term appears on hover, focus and tap, and can be dismissed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .test_access import judge
from .visits import PHONE, WIDE
from .waiting import wait_for_rest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TOUCH = {"viewport": {"width": PHONE, "height": 800}, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
SAYS = "What runs as one on a device."


def term(page: Page, name: str = "kernel") -> Locator:
    """Return the link of a term."""
    return page.locator("a.term", has_text=name).first


def tip(page: Page) -> Locator:
    """Return the shown explanation of a term."""
    return page.get_by_role("tooltip")


def test_the_first_use_of_each_term_and_each_opcode_is_a_link_to_its_entry(asked_page: Page) -> None:
    links = asked_page.eval_on_selector_all(
        "a.term", "all => all.map(one => [one.textContent, one.getAttribute('href')])"
    )
    assert links == [
        ["fusion", "../glossary/#fusion"],
        ["kernel", "../glossary/#kernel"],
        ["module", "../glossary/#module"],
        ["dot", "../operations/#op-dot"],
    ]


def test_a_term_is_distinguished_without_color(asked_page: Page) -> None:
    lines = asked_page.eval_on_selector_all("a.term", "all => all.map(one => getComputedStyle(one).textDecorationLine)")
    assert set(lines) == {"underline"}


def test_hovering_shows_one_sentence_that_the_pointer_can_reach_and_that_stays(asked_page: Page) -> None:
    asked_page.clock.install()
    asked_page.reload()
    term(asked_page).hover()
    tip(asked_page).wait_for()
    assert tip(asked_page).inner_text() == f"kernel {SAYS}"
    tip(asked_page).hover()
    asked_page.clock.run_for(1000)
    assert tip(asked_page).is_visible()
    asked_page.mouse.move(5, 500)
    tip(asked_page).wait_for(state="hidden")


def test_focus_shows_it_too_and_names_it_as_the_description(asked_page: Page) -> None:
    asked_page.keyboard.press("Tab")  # so that the keyboard is in use
    term(asked_page).focus()
    tip(asked_page).wait_for()
    assert term(asked_page).get_attribute("aria-describedby") == tip(asked_page).get_attribute("id")
    asked_page.keyboard.press("Tab")
    tip(asked_page).get_by_text("A whole program.").wait_for()
    assert term(asked_page).get_attribute("aria-describedby") is None


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_escape_dismisses_it_and_leaves_pointer_and_focus_where_they_are(asked_page: Page, way: str) -> None:
    asked_page.keyboard.press("Tab")
    getattr(term(asked_page), way)()
    tip(asked_page).wait_for()
    asked_page.keyboard.press("Escape")
    assert tip(asked_page).count() == 0
    assert (asked_page.evaluate("document.activeElement.textContent") == "kernel") == (way == "focus")


def test_a_click_and_enter_follow_the_link(asked_page: Page) -> None:
    there = asked_page.url
    term(asked_page).click()
    asked_page.wait_for_url("**/glossary/#kernel")
    asked_page.goto(there)
    term(asked_page, "dot").press("Enter")
    asked_page.wait_for_url("**/operations/#op-dot")


@pytest.mark.parametrize("asked_context", [TOUCH], indirect=True)
def test_a_tap_shows_a_sheet_with_the_link_and_a_second_tap_follows(asked_page: Page) -> None:
    there = asked_page.url
    term(asked_page).tap()
    tip(asked_page).wait_for()
    box = tip(asked_page).bounding_box()
    assert box is not None
    assert (box["x"], round(box["width"]), round(box["y"] + box["height"])) == (0, PHONE, 800)
    assert judge(asked_page) == []
    tip(asked_page).get_by_role("link").tap()
    asked_page.wait_for_url("**/glossary/#kernel")
    asked_page.goto(there)
    term(asked_page).tap()
    tip(asked_page).wait_for()
    asked_page.locator("h1").tap()
    assert tip(asked_page).count() == 0
    term(asked_page).tap()
    tip(asked_page).wait_for()
    term(asked_page).tap()
    asked_page.wait_for_url("**/glossary/#kernel")


@pytest.mark.parametrize("asked_context", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_it_is_a_link(asked_page: Page) -> None:
    term(asked_page).click()
    asked_page.wait_for_url("**/glossary/#kernel")


def test_explanations_of_terms_are_fetched_once_on_demand(asked_page: Page) -> None:
    fetched: list[str] = []
    asked_page.on("request", lambda request: fetched.append(request.url.rpartition("/")[2]))
    asked_page.reload()
    assert "terms.json" not in fetched
    for name in ("fusion", "kernel", "dot"):
        term(asked_page, name).hover()
        tip(asked_page).get_by_text(name, exact=True).wait_for()
    assert fetched.count("terms.json") == 1


def test_a_term_is_a_plain_link_if_explanations_are_missing(asked_page: Page) -> None:
    asked_page.route("**/terms.json", lambda route: route.abort())
    with asked_page.expect_event("requestfailed"):
        term(asked_page).hover()
    wait_for_rest(asked_page)
    assert tip(asked_page).count() == 0
    term(asked_page).click()
    asked_page.wait_for_url("**/glossary/#kernel")


@pytest.mark.parametrize(
    "asked_context",
    [
        {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
        for width, scheme in ((WIDE, "light"), (PHONE, "dark"))
    ],
    indirect=True,
    ids=["wide", "phone"],
)
def test_the_explanation_is_accessible_and_stays_in_the_window(asked_page: Page) -> None:
    for link in asked_page.locator("a.term").all():
        link.hover()
        tip(asked_page).wait_for()
        wait_for_rest(asked_page)
        box = tip(asked_page).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= asked_page.evaluate("innerWidth")
    assert judge(asked_page) == []
