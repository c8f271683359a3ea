"""The search in the browser: queries lead to the page that answers them, and results show sentences."""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.sync_api import Page

    from .conftest import Opener
    from .host import Site

QUERIES = tomllib.loads((Path(__file__).parent / "queries.toml").read_text(encoding="utf-8"))
FOUND = 36
"""The number of the forty queries that one of the first three pages has to answer."""


def find(page: Page, words: str) -> list[str]:
    """Type words into the search, and return the listed pages, the best first."""
    box, result_text = page.locator("input[name=query]"), page.locator(".md-search-result__meta")
    page.keyboard.press("/")
    box.fill("")
    page.keyboard.press("Backspace")  # the theme listens to keys
    expect(result_text).to_have_text(re.compile("Type to start|Initializing"))
    page.keyboard.insert_text(words[:-1])
    page.keyboard.type(words[-1])
    expect(result_text).to_have_text(re.compile("matching"))
    links: list[str] = page.locator(".md-search-result__item").evaluate_all(
        "items => items.map(item => item.querySelector('a').href)"
    )
    return [re.sub(r"^https?://[^/]*/|[?#].*|/(?=$|[?#])", "", link).rstrip("/") for link in links]


def list_missed(page: Page, queries: Iterable[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Return the queries that none of the first three pages answers, each with these pages."""
    results = {words: find(page, words)[:3] for words, _ in queries}
    return {words: results[words] for words, pages in queries if not set(results[words]) & set(pages)}


def test_each_query_finds_an_answering_page_among_the_first_three(open_page: Opener) -> None:
    queries = [*QUERIES["shown"].items(), *QUERIES["held"].items()]
    assert (len(QUERIES["shown"]), len(queries)) == (20, 40)
    missed = list_missed(open_page(""), queries)
    assert len(missed) <= len(queries) - FOUND, missed


@pytest.mark.parametrize("words", ["fusion", "algsimp", "donate"])
def test_a_chapter_comes_before_reference_for_the_word_that_is_its_subject(open_page: Opener, words: str) -> None:
    subject = {"fusion": "fusion", "algsimp": "simplification", "donate": "buffers"}
    assert find(open_page(""), words)[0] == subject[words]


def test_a_word_of_a_few_letters_finds_no_longer_word(open_page: Opener) -> None:
    page = open_page("")
    find(page, "out of memory")
    titles = page.locator(".md-search-result__article :is(h1, h2)").all_inner_texts()
    assert [title for title in titles if "outfeed" in title] == []


def test_excerpts_of_sections_are_whole_sentences_with_marked_words(open_page: Opener, site: Site) -> None:
    entries = json.loads((site.folder / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    sentences = {html.unescape(text) for entry in entries for text in re.findall(r"<p>(.*?)</p>", entry["text"])}
    page = open_page("")
    find(page, "donated")
    excerpts = page.locator(".md-search-result__article p:not(.md-search-result__terms)").all_inner_texts()
    assert (len(excerpts) > 1, [text for text in excerpts if text.strip() and text.strip() not in sentences]) == (
        True,
        [],
    )
    assert page.locator(".md-search-result__article :is(sub, nav:visible)").count() == 0
    assert page.locator(".md-search-result__article mark").count() > 0


def test_a_match_in_a_word_list_shows_the_start_of_the_section(open_page: Opener) -> None:
    item = {"location": "a/", "text": "<sub>scores <mark>positions</mark></sub>"}
    page = open_page("")
    state = page.evaluate(
        """async (item) => {
          const { learn, show } = await import(new URL("assets/search.js", document.baseURI))
          const docs = [{ location: "a/", text: "<p>It begins so.</p><p>And goes on.</p><sub>scores positions</sub>" }]
          return show(item, learn(docs)).text
        }""",
        item,
    )
    assert state == "<p>It begins so.</p>"


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("why is my step slow", "step^4 step slow^4 slow"),
        ("while", "while^4 while"),
        ("OOM", "OOM^4"),
        ("S(1)", "S^4 1^4"),
        ("all-gather", "all^4 gather^4 gather"),
        ('"live range"', '"live range"'),
        ("fus*", "fus*"),
        ("  ", ""),
    ],
)
def test_the_query_omits_stop_words_and_prefers_whole_words(open_page: Opener, typed: str, query: str) -> None:
    page = open_page("")
    ask = "async (typed) => (await import(new URL('assets/search.js', document.baseURI))).ask(typed)"
    assert page.evaluate(ask, typed) == query
