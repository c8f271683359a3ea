"""Markdown elements stay intact for any text of a compiler or a person."""

from __future__ import annotations

import html

import markdown as python_markdown
import pytest

from xla_inspect.report import markdown

EXTENSIONS = ["tables", "pymdownx.superfences", "pymdownx.details", "pymdownx.tabbed"]
OPTIONS = {"pymdownx.tabbed": {"alternate_style": True}}


def render(text: str) -> str:
    return python_markdown.markdown(text, extensions=EXTENSIONS, extension_configs=OPTIONS)


def test_a_fence_is_longer_than_the_fences_inside_it() -> None:
    assert markdown.fence("a\n````\nb", "text").splitlines() == ["`````text", "a", "````", "b", "`````"]


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a|b", "*x*", "_y_", "`z`", "[l](http://x)", "&amp;", "it's"]
)
def test_a_name_in_a_table_is_escaped(name: str) -> None:
    cell = render(markdown.table(["name"], [[markdown.code(name)]])).partition("<code>")[2].partition("</code>")[0]
    assert html.unescape(cell) == name


def test_a_fence_that_wraps_keeps_its_language_and_title() -> None:
    output = render(markdown.fence("a < b", "text", title="what", wrap=True))
    assert 'class="wrap highlight"' in output
    assert "what" in output
    assert "a &lt; b" in output


def test_the_summary_of_a_fold_is_plain_text() -> None:
    assert "<summary>it&#39;s &#34;here&#34; &#60;b&#62;</summary>" in render(markdown.fold('it\'s "here" <b>', "body"))


def test_a_fold_contains_a_whole_fence() -> None:
    folded = render(markdown.fold("open", markdown.fence("one\n\n  two", "text")))
    assert "one\n\n  two" in folded
    assert folded.startswith('<details class="listing">')


def test_tabs_keep_their_order() -> None:
    output = render(markdown.tabs({"CPU": "first", "TPU v5e": "second"}))
    assert output.index(">CPU</label>") < output.index(">TPU v5e</label>")
    assert output.index("first") < output.index("second")


def test_a_table_shows_large_numbers_with_separators() -> None:
    assert "| 1,234,567 |" in markdown.table(["n"], [[1234567]], numbers=[0])


def test_a_table_of_few_short_columns_stays_a_table_on_a_phone() -> None:
    assert 'class="cards few"' in markdown.cards(["what", "CPU", "H100"], [["a long line of words", "12", "<b>3</b>"]])
    assert 'class="cards"' in markdown.cards(["what", "CPU"], [["a", "a cell of some length"]])
    assert 'class="cards"' in markdown.cards(list("abcde"), [["1"] * 5])


def test_a_size_in_a_table_shows_its_exact_bytes() -> None:
    assert markdown.size(65536) == '<span class="size" data-exact="65,536 bytes" tabindex="0">64 KiB</span>'
    assert 'data-exact="1 byte"' in markdown.size(1)
    assert render(markdown.table(["a"], [[markdown.size(1536)]])).count('data-exact="1,536 bytes"') == 1


def test_the_cost_model_tag_explains_itself() -> None:
    assert ">by cost model</span>" in markdown.by_model()
    assert "not compared by measurement" in markdown.by_model()
