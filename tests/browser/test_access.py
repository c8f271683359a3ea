"""Accessibility of every page: axe finds no violation, and the keyboard reaches every control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .conftest import lacks
from .visits import WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from .conftest import Anew

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Contrast depends on ink, letters and grounds, and axe looks at each text by itself, which is most of its time: of all
# texts that are alike in these, in element and in class, it judges three. By its other rules it judges all.
AUDIT = """async options => {
  const grounds = new Map([[null, ""]])
  const ground = element => {
    if (!grounds.has(element)) {
      const style = getComputedStyle(element)
      const own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter, style.mixBlendMode,
                   style.position, style.zIndex, style.overflow]
      grounds.set(element, `${ground(element.parentElement)};${own}`)
    }
    return grounds.get(element)
  }
  const says = element => [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())
  const seen = new Map()
  for (const element of document.querySelectorAll("body *")) {
    const drawn = element.closest("svg")
    const shown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    if (!drawn && !(shown && says(element))) continue
    const style = getComputedStyle(element)
    const alike = [element.localName, element.className, style.color, style.fontSize, style.fontWeight,
                   style.fontFamily, style.textShadow, ground(element)].join()
    const count = drawn ? 0 : seen.get(alike) ?? 0
    seen.set(alike, count + 1)
    if (count < 3) element.dataset.judged = ""
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-judged], input, select, textarea" }] })
  const { violations } = await axe.run(options)
  for (const element of document.querySelectorAll("[data-judged]")) delete element.dataset.judged
  return violations
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

# Notes each marked element that has the focus, and whether the focus has come to the foot of the page or all around it.
# There it stays: one stop further it may be in the search, which opens and takes the keys that follow.
NOTE = """() => {
  const before = new Set()
  globalThis.reached = { marks: new Set(), left: false }
  document.addEventListener("focusin", ({ target }) => {
    if (target.dataset.reach) reached.marks.add(target.dataset.reach)
    reached.left ||= before.has(target) || !!target.closest("footer")
    before.add(target)
  })
  document.addEventListener("keydown", event => { if (event.key === "Tab" && reached.left) event.preventDefault() })
}"""


def judge(page: Page, part: str = "") -> list[str]:
    """Return the violations that axe finds on a page, or in a part of it, through shadow roots."""
    page.evaluate(Axe().axe_script)
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    if part:
        result = page.evaluate("([part, options]) => axe.run(part, options)", [part, options])
        assert result["passes"]
        return [summary(violation) for violation in result["violations"]]
    return [summary(violation) for violation in page.evaluate(AUDIT, options)]


def summary(violation: dict[str, object]) -> str:
    """Return a violation in a few lines: its rule, and the first places it was found at."""
    nodes: list[dict[str, str]] = violation["nodes"]  # type: ignore[assignment]
    places = "\n".join(f"  {node['html'][:160]}\n    {node['failureSummary']}" for node in nodes[:3])
    return f"{violation['id']} at {len(nodes)} places: {violation['help']}\n{places}"


CONTRAST = ["color-contrast"]
PAPER = """<!DOCTYPE html>
<html lang="en"><head><title>Cells</title></head><body style="background: #fff; color: #222"><main><h1>Cells</h1>
<table><caption>All alike</caption>{}</table>{}</main></body></html>"""
ROWS = "<tr><td><code>add</code></td></tr>" * 9


@pytest.mark.long("it tests the tests' own tools")
@pytest.mark.parametrize(
    ("row", "after", "rules"),
    [
        (ROWS, "", []),
        ('<tr><td><code style="color: #aaa">add</code></td></tr>', "", CONTRAST),
        ('<tr style="background: #444"><td><code>add</code></td></tr>', "", CONTRAST),
        ('<tr style="opacity: 0.3"><td><code>add</code></td></tr>', "", CONTRAST),
        (ROWS, "<style>tr:last-child code { color: #bbb }</style>", CONTRAST),
        (ROWS, '<input aria-label="Filter" value="add" style="color: #bbb">', CONTRAST),
        (ROWS, '<button style="background: #222; color: #333">Show</button>', CONTRAST),
        ('<tr hidden><td><code style="color: #aaa">add</code></td></tr>', "", []),
        (ROWS, '<p id="a">One</p><img src="data:,">', ["image-alt"]),
    ],
)
def test_one_faint_text_is_found_among_many_similar_ones(
    browser: Browser, row: str, after: str, rules: list[str]
) -> None:
    page = browser.new_page(viewport={"width": WIDE, "height": 900})
    page.set_content(PAPER.format(ROWS + row, after))
    verdict = judge(page)
    page.close()
    assert [violation.partition(" ")[0] for violation in verdict] == rules


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_the_keyboard_reaches_every_listing_fold_and_tab_and_uses_them(open_anew: Anew, page_path: str) -> None:
    page = open_anew(page_path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('md-skip')"), "the first stop skips to the text"
    assert page.evaluate("!!document.querySelector('article').querySelector(document.activeElement.hash)")
    expected = page.evaluate(MARK)
    reached = walk(page, steps=2 * len(expected) + 200)
    assert [expected[index] for index in range(len(expected)) if index not in reached] == []
    wide = (
        "[...document.querySelectorAll('article pre')].find(e => e.checkVisibility() && e.scrollWidth > e.clientWidth)"
    )
    if not lacks(page_path, page.evaluate(f"!!{wide}")):
        page.evaluate(f"{wide}.focus()")
        page.keyboard.press("ArrowRight")
        wait_until(page, "document.activeElement.scrollLeft > 0")
    tabs = page.locator("article .tabbed-set:not(details .tabbed-set)")
    if not lacks(page_path, tabs.count()):
        tabs.first.locator("> input:checked").focus()
        page.keyboard.press("ArrowRight")
        panes = tabs.first.locator("> .tabbed-content > .tabbed-block")
        expect(panes.nth(0)).to_be_hidden()
        expect(panes.nth(1)).to_be_visible()


def walk(page: Page, *, steps: int) -> set[int]:
    """Press Tab until the focus leaves the page's article; return the numbers of the marked elements that had it."""
    page.evaluate(NOTE)
    for step in range(steps):
        page.keyboard.press("Tab")
        # To ask costs as much as to press.
        if step % 20 == 19 and page.evaluate("reached.left"):
            break
    return {int(mark) for mark in page.evaluate("[...reached.marks]")}
