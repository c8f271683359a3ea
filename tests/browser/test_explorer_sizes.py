"""The explorer of a large module in a browser: it opens, scrolls and steps with few elements in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .large_module import make_data, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

INSTRUCTIONS, STATES = 20_000, 6
OPENED = 1.0  # of the time that the same text takes as it is
DRAWN = 300  # rows in the page at a time
SCROLLED = 0.25  # the longest task of scrolling, of the same time

SCROLL = """async () => {
  const inside = document.querySelector("#explorer").shadowRoot, pane = inside.querySelector(".pane")
  globalThis.tasks.length = 0
  let most = 0
  for (let at = 0; at < 40; at++) {
    pane.scrollTop = at % 2 ? pane.scrollHeight * ((at * 7) % 40) / 40 : pane.scrollTop + 500
    await new Promise((go) => requestAnimationFrame(() => setTimeout(go)))
    most = Math.max(most, inside.querySelectorAll(".pane .line").length)
  }
  await new Promise((go) => setTimeout(go, 200))
  return [most, Math.max(0, ...globalThis.tasks.map(([, length]) => length))]
}"""

STEP = """async () => {
  await globalThis.shown.show({ view: "passes", pass: 3 })
  const inside = document.querySelector("#explorer").shadowRoot
  while (inside.querySelector(".coming")) await new Promise((go) => setTimeout(go, 10))
  await new Promise((go) => setTimeout(go, 500)) // what comes in pieces would have come
  return [inside.querySelectorAll("li.changed").length, inside.querySelectorAll(".pane .line").length]
}"""


def test_a_large_module_opens_scrolls_and_is_compared_with_few_rows_in_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "large.html"
    path.write_text(write_page(make_data(INSTRUCTIONS, STATES)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    try:
        page.goto(path.as_uri())
        floor = page.evaluate("plain()")
        assert page.evaluate("open()") < OPENED * floor
        # What is slow is slow each time; what else runs on the machine is not.
        scrolls = [page.evaluate(SCROLL) for _ in range(3)]
        assert all(0 < most < DRAWN for most, _ in scrolls)
        assert min(longest for _, longest in scrolls) < max(50, SCROLLED * floor)
        changed_rows, frame_time = page.evaluate(STEP)
        assert changed_rows > 0
        assert frame_time < 2 * DRAWN
    finally:
        page.close()
