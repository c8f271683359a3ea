"""The home page: its first screen, the links between Python and graphs, and the explorer in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .visits import PHONE

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from .conftest import Opener

HOME, EXPLORER = "", "explorer/"
SHORT = {"width": 1280, "height": 800}
TALL = {"width": PHONE, "height": 844}


def lit(page: Page) -> set[str]:
    """Return the numbers of the highlighted operations in the function's source."""
    return set(page.locator(".marked .operation.lit").evaluate_all("all => all.map(each => each.dataset.of)"))


def lit_chips(graph: Locator) -> set[str]:
    """Return the numbers of the highlighted operations in a graph."""
    return set(graph.locator(".operation.lit").evaluate_all("all => all.map(each => each.dataset.of)"))


def bottom(place: Locator) -> float:
    """Return the y coordinate of the lower edge of an element, in pixels."""
    box = place.bounding_box()
    assert box
    return box["y"] + box["height"]


def test_the_first_screen_holds_promise_function_graphs_and_buttons(open_page: Opener) -> None:
    page = open_page(HOME, viewport=SHORT)
    graphs = page.locator(".linked .origins")
    assert [graph.locator("b").inner_text() for graph in graphs.all()] == ["CPU", "NVIDIA H100", "TPU v5e"]
    parts = [
        page.locator(".promise"),
        page.locator(".linked .marked"),
        *graphs.all(),
        *page.locator(".actions a").all(),
    ]
    assert max(map(bottom, parts)) <= SHORT["height"]
    assert page.locator(".reading-time").count() == 0


def test_hovering_over_an_operation_highlights_its_results_in_all_graphs(open_page: Opener) -> None:
    page = open_page(HOME)
    operation = page.locator(".marked .operation", has_text="jnp.exp")
    number = operation.get_attribute("data-of")
    operation.hover()
    assert lit(page) == {number}
    assert [lit_chips(graph) for graph in page.locator(".origins").all()] == [{number}] * 3
    page.locator("h1").hover()
    assert page.locator(".linked .lit").count() == 0


def test_focusing_a_line_highlights_all_of_its_operations(open_page: Opener) -> None:
    page = open_page(HOME)
    line = page.locator(".marked .line").first
    line.focus()
    numbers = set((line.get_attribute("data-of") or "").split())
    assert len(numbers) > 1
    assert lit(page) == numbers
    assert {lit_chip for graph in page.locator(".origins").all() for lit_chip in lit_chips(graph)} == numbers


def test_focusing_a_box_highlights_its_python(open_page: Opener) -> None:
    page = open_page(HOME)
    box = page.locator(".origins.gpu .launch").first
    box.focus()
    assert lit(page) == set((box.get_attribute("data-of") or "").split())
    assert lit(page) == set(page.locator(".marked .operation").evaluate_all("all => all.map(each => each.dataset.of)"))


def test_a_button_opens_the_explorer_in_place_and_the_other_leads_to_your_code(open_page: Opener) -> None:
    page = open_page(HOME)
    offer = page.locator("#explorer-home .offer")
    assert not offer.is_visible()
    page.get_by_role("link", name="Step through the passes").click()
    page.locator("#explorer-home [role=listbox]").wait_for()
    assert page.locator("#explorer-home").evaluate("e => e.getBoundingClientRect().top < innerHeight")
    page.get_by_role("link", name="Try it on your code").click()
    page.wait_for_url("**/your-code/")


def test_on_a_phone_the_function_stands_above_the_graphs_and_nothing_scrolls_sideways(open_page: Opener) -> None:
    page = open_page(HOME, viewport=TALL)
    parts = [page.locator(".linked .marked"), *page.locator(".linked .origins").all()]
    tops = [box["y"] for part in parts if (box := part.bounding_box())]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(parts)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_each_door_has_a_picture_and_a_link_to_its_chapter(open_page: Opener) -> None:
    page = open_page(HOME)
    doors = page.locator(".doorway")
    assert doors.count() == 4
    for door in doors.all():
        assert door.locator("h3 a:not(.headerlink)").count() == 1
        assert door.locator("svg, table.matrix").count() == 1


def test_the_explorers_page_opens_attention_on_the_h100_at_the_pass_that_fuses(open_page: Opener) -> None:
    page = open_page(EXPLORER)
    chosen = page.locator("#explorer-gallery [aria-selected=true]").first
    chosen.wait_for()
    assert chosen.inner_text().startswith("priority-fusion")
    assert page.get_by_label("Program", exact=True).input_value() == "attention-long"
    assert page.locator("#explorer-gallery select[name=target]").input_value() == "h100"
    assert page.locator("[data-explorer]:visible").count() == 1


def test_a_link_to_a_program_opens_it_on_the_explorers_page(open_page: Opener) -> None:
    page = open_page(f"{EXPLORER}#x=softmax&target=cpu&view=graph")
    page.locator("#explorer-gallery .graph").first.wait_for()
    assert page.get_by_label("Program", exact=True).input_value() == "softmax"
    assert page.locator("#explorer-gallery select[name=target]").input_value() == "cpu"


@pytest.mark.parametrize("path", [HOME, EXPLORER])
def test_without_javascript_the_links_remain(open_page: Opener, path: str) -> None:
    page = open_page(path, java_script_enabled=False)
    assert page.locator("article a[href*='gallery']").first.is_visible()
    assert page.locator("select").count() == 0 or not page.locator("select").first.is_visible()
