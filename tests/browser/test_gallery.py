"""The gallery in a browser: a link opens the explorer at its pass, and matrices fit a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener

pytestmark = pytest.mark.usefixtures("all_targets")


def test_a_pointer_opens_the_explorer_at_the_pass_it_names(open_page: Opener) -> None:
    page: Page = open_page("gallery/index.html")
    page.get_by_role("link", name="Split-K splits a matmul").click()
    page.locator('[aria-selected="true"]', has_text="splitk-rewriter").wait_for()
    assert page.locator('#explorer-layer select[name="target"]').input_value() == "h100"
