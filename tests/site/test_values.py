"""The values of a page are shown as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VALUE = re.compile(r'<span class="value"[^>]*>([^<]*&lt;/[^<]*)')


def test_no_value_shows_the_markup_that_a_block_would_print(built_site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in built_site.rglob("*.html")}
    assert [(page.parent.name, value) for page, html in pages.items() for value in VALUE.findall(html)] == []
