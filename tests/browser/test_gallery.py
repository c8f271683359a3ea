"""The gallery in a browser: a link opens the explorer at its pass, and matrices fit a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .visits import PHONE
from .waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener

pytestmark = pytest.mark.usefixtures("all_targets")


def test_a_pointer_opens_the_explorer_at_the_pass_it_names(open_page: Opener) -> None:
    page: Page = open_page("gallery/index.html")
    page.get_by_role("link", name="Split-K splits a matmul").click()
    page.locator('[aria-selected="true"]', has_text="splitk-rewriter").wait_for()
    assert page.locator('#explorer-layer select[name="target"]').input_value() == "h100"


def test_on_a_phone_the_matrices_have_text_of_12_pixels_without_overlap(open_page: Opener) -> None:
    page = open_page("gallery/index.html", viewport={"width": PHONE, "height": 844})
    cells = page.locator(".matrix td, .matrix th").filter(visible=True)
    assert min(cells.evaluate_all("each => each.map(it => parseFloat(getComputedStyle(it).fontSize))")) >= 12
    assert cells.evaluate_all("each => each.filter(it => it.scrollWidth > it.clientWidth + 1).length") == 0


def test_compare_opens_another_kind_of_processor_and_bracket_keys_need_no_focus(open_page: Opener) -> None:
    page: Page = open_page("explorer/index.html")
    chosen = page.locator('[role="option"][aria-selected="true"]')
    before = int(chosen.get_attribute("data-pass") or 0)
    page.keyboard.press("]")
    page.locator(f'[aria-selected="true"][data-pass="{before + 1}"]').wait_for()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator('.side >> nth=1 >> select[name="target"]')).to_have_value("tpu-v5e")
    keys = page.locator("kbd").all_inner_texts()
    assert {key for key in keys if len(key) > 1} == {"Home", "End", "Enter", "Space"}


def test_on_a_phone_a_tapped_line_and_its_operations_are_on_the_screen(open_page: Opener) -> None:
    page: Page = open_page("explorer/index.html", viewport={"width": PHONE, "height": 844}, has_touch=True)
    page.locator(".source button.line:visible").nth(2).tap()
    wait_until(
        page,
        """() => {
          const root = document.querySelector(".explorer.whole").shadowRoot
          const isSeen = (name) => [...root.querySelectorAll(name)].some((it) => {
            const { top, bottom } = it.getBoundingClientRect()
            return top > 48 && bottom < innerHeight
          })
          return isSeen(".source .lit") && isSeen(".pane .lit")
        }""",
    )
    heights = page.locator(".bar, .head").evaluate_all("each => each.map(it => it.getBoundingClientRect().height)")
    assert 0 < sum(heights) < 844 / 3
