"""A build that goes on after a failure shows it on the page, below the paragraph that contains it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

if TYPE_CHECKING:
    from conftest import Site

TEXT = """# Page

Before.

{broken}

After.
"""
PLACES = {
    "a paragraph": ("One `= 1 / 0` here,\nand on.", r"<p>One .* on\.</p>\s*NOTE"),
    "a list item": ("* one\n* two `= 1 / 0`\n\n* three", r"two [^<]*<span.*?</span></p>\s*NOTE\s*</li>\s*<li>"),
    "a table": ("| a |\n|---|\n| `= 1 / 0` |", r"</table>\s*(?:</div>\s*)?NOTE"),
    "a quote": ("> Said `= 1 / 0`.", r"<blockquote>\s*<p>Said .*</p>\s*NOTE\s*</blockquote>"),
    "a fold": ('??? note "Fold"\n\n    In `= 1 / 0`.', r"<p>In .*</p>\s*NOTE\s*</details>"),
    "a block": ('```python exec="on"\nprint(1)\n\n1 / 0\n```', r"NOTE"),
    "a check": ('```python check="Nothing"\nassert 1 / 0\n```', r"</details>\s*NOTE"),
    "a heading": ("## Title `= 1 / 0` { #title }", r"</h2>\s*NOTE"),
}
NOTE = r'<p class="failed">docs/page\.md:\d+: [^<]*ZeroDivisionError[^<]*</p>'


def build_on(site: Site, text: str) -> str:
    """Return the HTML of a page that fails, as a build without `strict` writes it."""
    site.write({"docs/page.md": text})
    build(load_config(str(site.root / "mkdocs.yml"), strict=False))
    return site.html("page")


@pytest.mark.parametrize("place", PLACES)
def test_a_failure_is_noted_below_its_place(site: Site, place: str) -> None:
    broken, expected = PLACES[place]
    html = build_on(site, TEXT.format(broken=broken))
    assert len(re.findall(NOTE, html)) == 1
    assert re.search(expected.replace("NOTE", NOTE), html, re.DOTALL)
    # The rest of the page stays in order around the note.
    assert html.index("Before.") < html.index("ZeroDivisionError") < html.index("After.")


def test_a_dead_link_is_noted_at_the_top(site: Site) -> None:
    html = build_on(site, TEXT.format(broken='<a href="#gone">There</a>'))
    assert html.startswith('<p class="failed">docs/page.md:5: the link &quot;#gone&quot; leads nowhere</p>')


def test_the_text_of_an_error_is_escaped(site: Site) -> None:
    html = build_on(site, TEXT.format(broken='`= int("<b>")`'))
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_a_page_without_failures_has_no_notes(site: Site) -> None:
    assert "failed" not in build_on(site, TEXT.format(broken="One `= 1 + 1` here."))
