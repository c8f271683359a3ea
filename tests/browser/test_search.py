"""The search in the browser: queries lead to the page that answers them, and results show sentences."""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .searching import search

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.sync_api import Page

    from .conftest import Opener
    from .host import Site

QUERIES = tomllib.loads((Path(__file__).parent / "queries.toml").read_text(encoding="utf-8"))
FOUND = 38
"""The number of each forty queries that one of the first three pages has to answer."""


def find(page: Page, words: str) -> list[str]:
    """Return the pages that the search lists for words, the best first."""
    links = search(page, words, ".md-search-result__item > a")
    return [re.sub(r"#.*|/(?=$|#)", "", link) for link in links]


def list_missed(page: Page, queries: Iterable[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Return the queries that none of the first three pages answers, each with these pages."""
    results = {words: find(page, words)[:3] for words, _ in queries}
    addresses = {words: {re.sub(r"(^|/)index$", "", name) for name in names} for words, names in queries}
    return {words: results[words] for words in results if not set(results[words]) & addresses[words]}


@pytest.mark.parametrize(
    "sets", [("shown", "earlier"), ("held",), ("blind-1",), ("blind-2",), ("held-2",), ("held-3",)], ids="+".join
)
def test_each_query_finds_an_answering_page_among_the_first_three(open_page: Opener, sets: tuple[str, ...]) -> None:
    queries = [query for name in sets for query in QUERIES[name].items()]
    assert len(queries) == 40
    missed = list_missed(open_page(""), queries)
    assert len(missed) <= len(queries) - FOUND, missed


@pytest.mark.parametrize("words", ["fusion", "algsimp", "donate", "pipeline"])
def test_a_chapter_comes_before_reference_for_the_word_that_is_its_subject(open_page: Opener, words: str) -> None:
    subject = {"algsimp": "simplification", "donate": "buffers"}
    assert find(open_page(""), words)[0] == subject.get(words, words)


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
          const text = "<p>It begins so.</p><p>And goes on.</p><sub>scores positions</sub>"
          const docs = [{ location: "a/", title: "A", text }]
          return show(item, learn(docs).begins).text
        }""",
        item,
    )
    assert state == "<p>It begins so.</p>"


def change(page: Page, call: str, docs: list[dict[str, str | list[str]]], *arguments: object) -> object:
    """Return what a function of the search script returns for a small index, which is its last argument."""
    return page.evaluate(
        """async ([call, docs, ...rest]) => {
          const search = await import(new URL("assets/search.js", document.baseURI))
          return search[call](...rest, search.learn(docs))
        }""",
        [call, docs, *arguments],
    )


def sort_pages(page: Page, docs: list[dict[str, str | list[str]]], typed: str) -> list[str]:
    """Return the addresses of the pages of an index, sorted as for a typed query that finds all of their sections."""
    groups: dict[str, list[dict[str, str | list[str]]]] = {}
    for doc in docs:
        groups.setdefault(str(doc["location"]).partition("#")[0], []).append(doc)
    ordered = change(page, "order", docs, [*groups.values()], typed)
    assert isinstance(ordered, list)
    return [group[0]["location"].partition("#")[0] for group in ordered]


def test_a_page_with_all_words_comes_before_a_page_whose_beginning_has_one(open_page: Opener) -> None:
    docs: list[dict[str, str | list[str]]] = [
        {"location": "lead/", "title": "Cores", "text": ""},
        {"location": "all/", "title": "All", "text": ""},
        {"location": "all/#a", "title": "Tensor cores", "text": "<p>They multiply.</p>"},
        {"location": "none/", "title": "None", "text": ""},
    ]
    assert sort_pages(open_page(""), docs, "tensor cores")[0] == "all/"


def test_words_of_readers_count_in_full_only_together(open_page: Opener) -> None:
    docs: list[dict[str, str | list[str]]] = [
        {"location": "half/", "title": "A", "text": "", "tags": ["peak performance"]},
        {"location": "whole/", "title": "B", "text": "", "tags": ["peak memory"]},
        {"location": "none/", "title": "None", "text": ""},
    ]
    assert sort_pages(open_page(""), docs, "peak of memory")[0] == "whole/"


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("allreduce", "all-reduce^1"),
        ("all-reduce", "all-reduce^1 all^1 reduce^1"),
        ("DistributedDataParallel", "distributed^1 data^1 parallel^1"),
        ("--xla_gpu_dump_level", "dump^1"),
        ("xla_dump", "xla_dump_to^1 dump^1"),
        ("cudagraph", "cuda-graph^1"),
        ("cuda graphs", "cuda^1 cuda-graph^1 graph^1"),
        ("fused", "fusion^1 fused^1"),
        ("backprop", "gradient^1"),
        ("fusoin", "fusion^1 fused^1"),
        ("parallle", "parallel^1"),
        ("nothing at all like it", "all^1"),
        ("zebra", "zebra^1"),
    ],
)
def test_a_typed_word_finds_the_words_of_the_pages_that_it_may_mean(open_page: Opener, typed: str, query: str) -> None:
    text = "A fusion, fused. The all-reduce, distributed and parallel. The data of xla_dump_to. A gradient."
    docs: list[dict[str, str | list[str]]] = [{"location": "a/", "title": "CUDA graph", "text": text}]
    assert change(open_page(""), "ask", docs, typed) == query


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("why is my step slow", "step^1 slow^1"),
        ("while", "while^1"),
        ("OOM", "oom^1"),
        ("S(1)", "s^1 1^1"),
        ('"live range"', '"live range"'),
        ("fus*", "fus*"),
        ("  ", ""),
    ],
)
def test_the_query_omits_stop_words_and_keeps_the_signs_of_the_worker(
    open_page: Opener, typed: str, query: str
) -> None:
    docs: list[dict[str, str | list[str]]] = [
        {"location": "a/", "title": "Why is", "text": "my step slow while OOM S(1)"}
    ]
    assert change(open_page(""), "ask", docs, typed) == query
