"""The use of the site's search, as a reader's keyboard uses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def search(page: Page, words: str, links: str = ".md-search-result__list a") -> list[str]:
    """Type words into the search, and return where its results lead, the best first, relative to the site.

    All words arrive with one keystroke, because the results of a part of them may be shown for a moment.

    Args:
        page: The page, in which the search is closed or open.
        words: The query.
        links: The selector of the results' links.
    """
    box, result_text = page.locator("input[name=query]"), page.locator(".md-search-result__meta")
    page.keyboard.press("/")
    box.fill("")
    page.keyboard.press("Backspace")  # the theme listens to keys
    expect(result_text).to_have_text(re.compile("Type to start|Initializing"))
    page.keyboard.insert_text(words[:-1])
    page.keyboard.type(words[-1])
    expect(result_text).to_have_text(re.compile("matching"))  # also `No matching documents`
    addresses: list[str] = page.locator(links).evaluate_all("all => all.map(each => each.href)")
    return [re.sub(r"^https?://[^/]*/|\?[^#]*", "", address) for address in addresses]
