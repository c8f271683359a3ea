"""Ways to find and save the built site: search, sitemap, descriptions, Markdown and print."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from .links import leads_somewhere
from .searching import search

if TYPE_CHECKING:
    from .conftest import Opener
    from .host import Site

MOST_INDEXED = 390_000
_FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,})[^\n]*\n.*?^\1\2[ \t]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r'\]\(([^()\s]+)(?:\s+"[^"]*")?\)|(?:href|src)="([^"]*)"')


def test_the_search_index_is_small_and_holds_no_number_of_an_instruction(site: Site) -> None:
    path = site.folder / "search" / "search_index.json"
    assert path.stat().st_size <= MOST_INDEXED
    entries = json.loads(path.read_text(encoding="utf-8"))["docs"]
    text = "\n".join(entry["title"] + " " + entry["text"] for entry in entries)
    assert re.findall(r"%\w+\.\d+ = ", text) == []
    assert len(re.findall(r"\w+_fusion\.\d+", text)) < 20  # those that a sentence speaks of


@pytest.mark.long("otherwise one search and one notebook stand for all", but=["while-operations/#op-while"])
@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("while", "operations/#op-while"),
        ("dynamic-update-slice", "operations/#op-dynamic-update-slice"),
        ("tracer", "glossary/#tracer"),
        ("buffer assignment", "glossary/#buffer-assignment"),
    ],
)
def test_the_search_finds_an_opcode_or_a_term_first(open_page: Opener, words: str, first: str) -> None:
    """The first result is the page of the opcode or term, and the second is its entry on that page."""
    match = search(open_page(""), words)
    assert match[:2] == [first.partition("#")[0], first]


def test_the_sitemap_lists_every_page(site: Site) -> None:
    tree = ET.parse(site.folder / "sitemap.xml")  # noqa: S314 - our own build
    listed = {part.text for part in tree.iter() if part.tag.endswith("loc")}
    pages = {name.removesuffix("index.html") or "./" for name in site.html if name != "404.html"}
    assert listed == pages


def test_a_page_has_a_description_for_links(site: Site, page_path: str) -> None:
    text = (site.folder / page_path).read_text(encoding="utf-8")
    metadata = {
        name: html.unescape(says)
        for name, says in re.findall(r'<meta (?:property|name)="([\w:]+)" content="([^"]*)">', text)
    }
    if page_path == "404.html":
        assert (metadata["robots"], "og:title" in metadata) == ("noindex", False)
        return
    assert metadata["og:description"] == metadata["description"]
    assert metadata["og:title"] in {
        re.findall(r"<h1[^>]*>([^<]*)", text)[0].strip(),
        *re.findall(r"<title>(.*?)(?: - .*)?</title>", text),
    }


def test_each_page_has_a_markdown_file_with_valid_links(site: Site, page_path: str) -> None:
    if page_path == "404.html":
        return
    path = (site.folder / page_path).with_suffix(".md")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert re.findall(r"livepage(?:-value-|=\"?)\d", text) == []  # what stands for pieces while a page is converted
    assert "<svg" not in text
    prose = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))
    links = {first or second for first, second in _LINK.findall(prose)}
    assert [link for link in sorted(links) if not leads_somewhere(path, link)] == []


def test_the_list_of_pages_links_a_text_for_each(site: Site) -> None:
    listed = re.findall(
        r"^- \[[^\]]+\]\(([^)]+)\): \S", (site.folder / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == [name.replace(".html", ".md") for name in site.html if name != "404.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_printed_page_has_a_white_background_open_tabs_and_folds_and_no_feedback(
    open_page: Opener, scheme: str
) -> None:
    page = open_page("pipeline/", color_scheme=scheme)
    page.emulate_media(media="print", color_scheme=scheme)
    visible_count = "each => each.filter(e => e.checkVisibility()).length"
    assert (
        page.locator("header.md-header, .md-sidebar, .md-footer, .copy, .headerlink").evaluate_all(visible_count) == 0
    )
    for hidden in (page.locator(".check pre"), page.locator(".predict :is(.right, .wrong)")):
        assert hidden.evaluate_all(visible_count) == 0 < hidden.count()
    folded = page.locator("details.listing:not(details details) > .highlight > pre")
    assert folded.evaluate_all(visible_count) == folded.count() > 0
    assert page.locator("button.checked").evaluate_all(visible_count) > 5
    panes = page.locator("article .tabbed-block:not(details *)")
    assert panes.evaluate_all(visible_count) == panes.count() > 5
    ink = page.locator("article p").nth(1).evaluate("e => getComputedStyle(e).color")
    assert max(map(int, re.findall(r"\d+", ink)[:3])) < 100
