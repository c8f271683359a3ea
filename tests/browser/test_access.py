"""Everyone can use each page: axe finds nothing with all folds and tabs open, and the keyboard gets everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from .conftest import lacks
from .waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener, Revealer

PHONE, WIDE = 390, 1280
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Contrast depends on the class of a token and where its listing stands, and axe looks at each token by itself:
# three of each class stay in each listing, the others become plain text.
THIN = """() => {
  for (const listing of document.querySelectorAll("pre")) {
    const seen = {}
    for (const token of listing.querySelectorAll("span[class]:not(.text)")) {
      seen[token.className] = (seen[token.className] ?? 0) + 1
      if (seen[token.className] > 3 && !token.children.length) token.replaceWith(token.textContent)
    }
    listing.normalize()
  }
}"""
# What the keyboard must reach, each marked with a number: listings, folds, and each tab set by its chosen radio button.
MARK = """() => {
  const targets = [...document.querySelectorAll(
    "article pre, article summary, article .tabbed-set > input:checked, article a[href]:not(.headerlink)"
  )].filter(element => element.tabIndex >= 0 || element.matches("pre"))
    .filter(element => element.matches("input") ? element.parentElement.checkVisibility()
                                                : element.checkVisibility({contentVisibilityAuto: true}))
    .filter(element => !element.closest(".tabbed-labels"))
  targets.forEach((element, index) => element.dataset.reach = index)
  return targets.map(element => element.outerHTML.slice(0, 120))
}"""


# Contrast depends on the scheme and layout on the width: two looks show both of each.
@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", PHONE)])
def test_axe_finds_no_violation(open_page: Opener, reveal: Revealer, page_path: str, scheme: str, width: int) -> None:
    page = open_page(page_path, color_scheme=scheme, viewport={"width": width, "height": 900}, reduced_motion="reduce")
    reveal(page)
    page.evaluate(THIN)
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    results = Axe().run(page, options=options)
    assert [summary(violation) for violation in results.response["violations"]] == []


def summary(violation: dict[str, object]) -> str:
    """Return a violation in a few lines: its rule, and the first places it was found at."""
    nodes: list[dict[str, str]] = violation["nodes"]  # type: ignore[assignment]
    places = "\n".join(f"  {node['html'][:160]}\n    {node['failureSummary']}" for node in nodes[:3])
    return f"{violation['id']} at {len(nodes)} places: {violation['help']}\n{places}"


def test_the_keyboard_reaches_every_listing_fold_and_tab(open_page: Opener, page_path: str) -> None:
    page = open_page(page_path)
    wanted = page.evaluate(MARK)
    page.evaluate("document.activeElement.blur()")
    reached = {index for index in walk(page, steps=2 * len(wanted) + 200) if index is not None}
    assert [wanted[index] for index in range(len(wanted)) if index not in reached] == []


def walk(page: Page, *, steps: int) -> list[int | None]:
    """Press Tab until the focus leaves the page's article; return the number of each marked element that had it."""
    passed: list[int | None] = []
    for _ in range(steps):
        page.keyboard.press("Tab")
        mark = page.evaluate("document.activeElement?.dataset.reach ?? null")
        passed.append(None if mark is None else int(mark))
        if page.evaluate("!!document.activeElement?.closest('footer')"):
            break
    return passed


def test_the_keyboard_chooses_a_tab(open_page: Opener, page_path: str) -> None:
    page = open_page(page_path)
    chosen = page.locator("article .tabbed-set:not(details .tabbed-set) > input:checked").first
    if lacks(page_path, chosen.count()):
        return
    chosen.focus()
    page.keyboard.press("ArrowRight")
    tabs = page.locator("article .tabbed-set:not(details .tabbed-set)").first
    panes = tabs.locator("> .tabbed-content > .tabbed-block")
    assert [pane.is_visible() for pane in panes.all()][:2] == [False, True]


def test_a_wide_listing_scrolls_by_keyboard(open_page: Opener, page_path: str) -> None:
    page = open_page(page_path)
    wide = (
        "[...document.querySelectorAll('article pre')].find(e => e.checkVisibility() && e.scrollWidth > e.clientWidth)"
    )
    if lacks(page_path, page.evaluate(f"!!{wide}")):
        return
    page.evaluate(f"{wide}.focus()")
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.activeElement.scrollLeft > 0")


def test_the_first_stop_skips_to_the_text(open_page: Opener, page_path: str) -> None:
    page = open_page(page_path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('md-skip')")
    assert page.evaluate("!!document.querySelector('article').querySelector(document.activeElement.hash)")
