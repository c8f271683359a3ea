"""The navigation: folding groups, sections on the right of a wide window, and a drawer with every group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from .conftest import CHAPTER, Opener
from .visits import PHONE
from .waiting import wait_for_rest, wait_until

if TYPE_CHECKING:
    from .host import Site

GROUPS = ["Understand", "Beyond the compiler", "Use it well", "Practice", "Reference"]
LAPTOP, DESK = {"width": 1280, "height": 800}, {"width": 1440, "height": 900}


def test_the_group_of_the_page_is_open_and_the_others_are_folded(open_page: Opener) -> None:
    page = open_page(CHAPTER)
    groups = page.locator(".groups details")
    assert groups.locator("> summary").all_inner_texts() == GROUPS
    assert groups.evaluate_all("all => all.map(each => each.open)") == [name == "Understand" for name in GROUPS]
    page.locator(".groups summary", has_text="Practice").press("Enter")
    assert page.get_by_role("link", name="Fix slow models", exact=True).is_visible()


@pytest.mark.parametrize("viewport", [LAPTOP, DESK])
def test_the_sections_stand_at_the_right_where_there_is_room_and_else_in_the_group(
    open_page: Opener, viewport: dict[str, int]
) -> None:
    page = open_page(CHAPTER, viewport=viewport)
    beside, within = page.locator(".md-sidebar--secondary"), page.locator(".on-page")
    assert (beside.is_visible(), within.is_visible()) == ((True, False) if viewport == DESK else (False, True))
    article, box = page.locator("article").bounding_box(), beside.bounding_box()
    assert article
    if box:
        assert box["x"] >= article["x"] + article["width"]
    assert article["width"] >= 900


@pytest.mark.parametrize("path", ["", CHAPTER, "practice/jaxpr/"])
def test_on_a_phone_the_drawer_shows_every_group(open_page: Opener, path: str) -> None:
    page = open_page(path, viewport={"width": PHONE, "height": 844}, reduced_motion="reduce")
    page.locator("label.md-header__button[for=__drawer]").click()
    wait_for_rest(page)
    assert page.get_by_role("list", name="Start").get_by_role("link", name="Your code", exact=True).is_visible()
    for name in GROUPS:
        summary = page.locator(".groups summary", has_text=name)
        box = summary.bounding_box()
        assert box
        assert box["x"] >= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_names_in_the_navigation_are_complete_and_unique(open_page: Opener) -> None:
    page = open_page(CHAPTER, viewport=DESK)
    links = page.locator(".groups ul:not(.on-page) > li > a")
    names = links.all_text_contents()
    assert len(set(names)) == len(names)
    page.locator(".groups details").evaluate_all("all => all.forEach(each => { each.open = true })")
    cut = links.evaluate_all(
        "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).map(e => e.textContent)"
    )
    assert cut == []


def test_navigation_heading_and_window_show_the_same_title(site: Site) -> None:
    home = BeautifulSoup((site.folder / "index.html").read_text(encoding="utf-8"), "html.parser")
    names = {link["href"]: link.get_text(strip=True) for link in home.select(".groups ul:not(.on-page) > li > a")}
    assert names.pop(".") == "Home"
    titles = {}
    for address in names:
        page = BeautifulSoup((site.folder / address / "index.html").read_text(encoding="utf-8"), "html.parser")
        [heading] = page.select("h1")
        assert page.title
        titles[address] = {heading.get_text().removesuffix("¶").strip(), page.title.get_text().rpartition(" - ")[0]}
    assert len(names) > 40
    assert titles == {address: {name} for address, name in names.items()}


def test_a_button_leads_back_to_the_top(open_page: Opener) -> None:
    page = open_page(CHAPTER, reduced_motion="reduce")
    page.mouse.wheel(0, 4000)
    wait_until(page, "scrollY >= 3900")
    page.mouse.wheel(0, -400)
    page.get_by_role("button", name="Back to top").click()
    wait_until(page, "scrollY === 0")


def test_the_foot_leads_to_citing_the_licence_the_feed_and_the_text_for_machines(open_page: Opener) -> None:
    page = open_page(CHAPTER)
    links = page.locator(".md-footer-meta a")
    assert links.all_inner_texts() == ["Cite", "Feed", "llms.txt", "Apache-2.0"]
    for link in links.evaluate_all("all => all.map(each => each.href)"):
        assert page.request.get(link).ok
        if "#" in link:
            page.goto(link)
            assert page.locator(f"[id='{link.partition('#')[2]}']").count() == 1
