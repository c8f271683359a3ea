"""Links from the first use of a term or code in prose to its entry."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from livepage.publish import term_links
from livepage.read import Adapter, Term, project

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FUSION = Term("fusion", "glossary.md", "fusion", "One <launch>.", ("fusion", "fusions"))
KIND = Term("fusion kind", "glossary.md", "fusion-kind", "Its sort.", ("fusion kind", "fusion kinds"))
PASS = Term("pass", "glossary.md", "pass", "One rewrite.", ("pass", "passes"), is_verb=True)
HLO = Term("HLO", "glossary.md", "hlo", "A language.", ("HLO",))
DOT = Term("dot", "operations.md", "op-dot", "Multiplies.", code="dot")
TERMS = (FUSION, KIND, PASS, HLO, DOT)
RARE = Term("call-inliner", "passes.md", "call-inliner", "Inlines.", code="call-inliner", is_rare=True)
PAGES = {"glossary.md": "../glossary/", "operations.md": "../operations/", "passes.md": "../passes/"}


def link(content: str, terms: Iterable[Term] = TERMS) -> str:
    """Return HTML with links to terms added, as `[text](address)`; assert that nothing else changed."""
    linked = term_links.link(content, terms, lambda name: PAGES.get(name, ""))
    assert re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", linked) == content, "more changed than links"
    return re.sub(r'<a class="term" href="\.\./(.*?)">(.*?)</a>', r"[\2](\1)", linked)


def test_the_first_use_in_prose_is_linked_and_no_other() -> None:
    assert link("<p>A fusion and a fusion.</p><p>Two fusions.</p>") == (
        "<p>A [fusion](glossary/#fusion) and a fusion.</p><p>Two fusions.</p>"
    )


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Fusions are made.", "[Fusions](glossary/#fusion) are made."),
        ("The fusion kind says it.", "The [fusion kind](glossary/#fusion-kind) says it."),
        ("Multi-fusion, fusion-like, confusion, jax.fusion and hlo.", None),
        ("HLO, not hlo.", "[HLO](glossary/#hlo), not hlo."),
        (
            "It passes the value on. Then each pass runs.",
            "It passes the value on. Then each [pass](glossary/#pass) runs.",
        ),
        ("<em>fusion</em>", "<em>[fusion](glossary/#fusion)</em>"),
        ("5 &fusion; 6", None),
    ],
)
def test_plurals_capitals_and_longer_terms_are_known_and_verbs_and_parts_of_words_are_not(
    text: str, linked: str | None
) -> None:
    assert link(f"<p>{text}</p>") == f"<p>{linked or text}</p>"


@pytest.mark.parametrize(
    "content",
    [
        "<h2 id='x'>A fusion</h2>",
        "<p><a href='#x'>A fusion of <code>dot</code></a></p>",
        "<pre><code>fusion dot</code></pre>",
        "<details><summary>A fusion of <code>dot</code></summary></details>",
        "<figure><p>A fusion</p></figure>",
        "<table><tr><td><p>A fusion</p></td></tr></table>",
        '<div class="predict"><p>A fusion</p></div>',
        '<p class="stamp">A fusion</p>',
        '<ul class="bars"><li>A fusion</li></ul>',
        '<p><span class="value">fusion</span></p>',
        "<blockquote><p>A fusion</p></blockquote>",
        "<button>A fusion</button>",
        "<svg><title>A fusion</title></svg>",
        '<p title="a fusion > <p>">none</p>',
        "<p><code>dots</code> <code>dot()</code></p>",
        "A fusion outside of any paragraph",
    ],
)
def test_headings_links_listings_summaries_and_what_is_drawn_stay_as_they_are(content: str) -> None:
    assert link(content) == content


@pytest.mark.parametrize(
    "around", ["<p>{}</p>", "<ul><li>{}</li></ul>", "<dl><dd>{}</dd></dl>", '<p class="answer">{}</p>']
)
@pytest.mark.parametrize("outside", ["{}", "<details class='question'><summary>Answer</summary>{}</details>"])
def test_only_markdown_prose_is_linked(around: str, outside: str) -> None:
    content = outside.format(around.format("A fusion"))
    assert link(content) == content.replace("fusion", "[fusion](glossary/#fusion)")


def test_a_code_is_linked_once_a_paragraph_and_not_where_many_are_listed() -> None:
    linked = "[<code>dot</code>](operations/#op-dot)"
    content = "<p><code>dot</code> and <code>dot</code></p><p><code>dot</code></p>"
    assert link(content) == f"<p>{linked} and <code>dot</code></p><p>{linked}</p>"
    many = f"<p>{'<code>add</code>, ' * 8}<code>dot</code></p>"
    assert link(many) == many


def test_a_code_that_means_nothing_else_is_linked_once_a_page_and_as_a_value_too() -> None:
    code, value = "<code>call-inliner</code>", '<span class="value">call-inliner</span>'
    for first in (code, value):
        content = f"<p>{{}} and {code}, {value}</p><p>{code} {value}</p>"
        linked = content.format(f"[{first}](passes/#call-inliner)")
        assert link(content.format(first), (*TERMS, RARE)) == linked
    assert link("<p>A call-inliner.</p>", [RARE]) == "<p>A call-inliner.</p>"


@pytest.mark.parametrize(
    "content",
    [
        '<p><span class="value">dot</span></p>',
        '<p><span class="value">the call-inliner</span></p>',
        '<p class="stamp"><span class="value">call-inliner</span></p>',
        '<p><a href="#x"><span class="value">call-inliner</span></a></p>',
        '<p><span class="other">call-inliner</span></p>',
        '<table><tr><td><span class="value">call-inliner</span></td></tr></table>',
    ],
)
def test_another_value_and_one_that_is_no_prose_stay_as_they_are(content: str) -> None:
    assert link(content, (*TERMS, RARE)) == content


def test_a_term_linked_by_the_author_is_not_linked_again() -> None:
    content = '<p>See <a href="../glossary/#fusion">what that is</a>: a fusion.</p>'
    assert link(content) == content


def test_an_address_and_a_name_are_escaped() -> None:
    term = Term("a", "glossary.md", 'x"><script>', "", ("thing",))
    linked = term_links.link("<p>A thing</p>", [term], lambda _: "../?a&b")
    assert linked == '<p>A <a class="term" href="../?a&amp;b#x&quot;&gt;&lt;script&gt;">thing</a></p>'


class _Terms(Adapter):
    terms: tuple[Term, ...] = TERMS

    def list_terms(self) -> Iterable[Term]:
        return self.terms


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> _Terms:
    """The project's adapter, replaced by one with terms."""
    monkeypatch.setattr(project, "adapter", _Terms())
    return project.adapter  # type: ignore[return-value]  # set above


def test_the_sentences_stand_in_one_file_by_address(adapter: _Terms, tmp_path: Path) -> None:
    assert adapter.terms == TERMS
    term_links.publish_terms(tmp_path, {"glossary.md": "glossary/"}.get)  # type: ignore[arg-type]  # it has them all
    assert json.loads((tmp_path / term_links.FILE).read_text(encoding="utf-8")) == {
        "glossary/#fusion": ["fusion", "One <launch>."],
        "glossary/#fusion-kind": ["fusion kind", "Its sort."],
        "glossary/#pass": ["pass", "One rewrite."],
        "glossary/#hlo": ["HLO", "A language."],
    }


def test_pages_are_stale_after_a_new_term_and_not_after_a_new_definition(adapter: _Terms) -> None:
    assert not term_links.are_stale(TERMS)
    adapter.terms = (Term("fusion", "glossary.md", "fusion", "Another.", FUSION.words), *TERMS[1:])
    assert not term_links.are_stale(TERMS)
    adapter.terms = TERMS[1:]
    assert term_links.are_stale(TERMS)
