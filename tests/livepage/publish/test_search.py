"""The search index: prose, names, opcodes and terms, without the compiler's text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from material.plugins.search.plugin import Parser

from livepage.publish.search import rank, to_index
from livepage.read import SearchEntry

if TYPE_CHECKING:
    from conftest import Site

PAGE = """
    # A

    Findable prose with a value `= "computed"`.

    ```python
    findable = jax.jit(lax.dot_general)
    ```

    ```python exec="on" result="hlo"
    print("%hidden.1 = f32[8]{0} add(%a, %b)")
    ```

    ```python exec="on"
    print("Printed prose.\\n\\n```jaxpr title=\\"caption\\"\\nhidden_too\\n```\\n\\nMore prose.")
    ```
    """


def test_listings_are_on_the_page_and_not_in_the_index(site: Site) -> None:
    """Indexing them would take most of a rebuild, and nobody searches for an instruction's number."""
    site.write({"docs/a.md": PAGE})
    assert site.build() == []
    index = json.loads((site.root / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    text = " ".join(entry["text"] for entry in index["docs"])
    for word in ("Findable prose", "computed", "jax.jit lax.dot_general", "Printed"):
        assert word in text
    for word in ("hidden", "caption", "findable ="):
        assert word not in text
    for word in ("hidden", "caption"):
        assert word in site.html("a")


def index(content: str, entries: tuple[SearchEntry, ...] = ()) -> dict[str, tuple[str, str]]:
    """Return the search entries of a page's HTML: title and text of each entry, by its id."""
    parser = Parser()
    parser.feed(to_index(content, entries))
    parser.close()
    return {str(part.id): ("".join(part.title).strip(), "".join(part.text)) for part in parser.data}


CARDS = """
    # Cards

    All.

    ```python exec="on"
    search_entries = [("card-{a}", "a", "The first <code>f(x)</code>.", 4.0), ("card-{b}", "", "The second.")]
    print('<div><details id="card-{a}"><summary>Long</summary><pre>hidden</pre></details>')
    print('<p id="card-{b}">Hidden too</p></div>')
    ```
    """


def test_entries_of_a_block_replace_its_elements(site: Site) -> None:
    site.write({"docs/a.md": CARDS.format(a=1, b=2), "docs/b.md": CARDS.format(a="x", b="y")})
    assert site.build() == []
    index = json.loads((site.root / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    entries = [(entry["location"], entry["title"], entry["text"], entry.get("boost")) for entry in index["docs"]]
    assert entries[1:] == [
        (f"{page}/{part}", title, text, boost)
        for page, card in (("a", "#card-1"), ("b", "#card-x"))
        for part, title, text, boost in (
            ("", "Cards", "<p>All.</p>", None),
            (card, "a", "<p>The first f(x).</p><sub>second</sub>", 4.0),
        )
    ]


def test_an_invalid_entry_fails_at_its_block(site: Site) -> None:
    site.write({"docs/a.md": '# A\n\n```python exec="on"\nsearch_entries = [("id",)]\n```\n'})
    [failure] = site.build()
    assert failure.startswith("docs/a.md:3: TypeError: SearchEntry.__init__() missing 2 required")


def test_a_paragraph_that_is_excluded_is_not_indexed() -> None:
    indexed = to_index('<h2 id="a">A</h2><p>One dialect.</p><p data-search-exclude="">abs, add</p>')
    assert indexed == '<h2 id="a">A</h2><p>One dialect.</p>'


def test_a_term_is_an_entry_of_its_own() -> None:
    terms = '<dl><dt><strong id="tracer">tracer</strong></dt>\n<dd>What stands in for an array.</dd></dl>'
    assert index(terms)["tracer"] == ("tracer", "<p>What stands in for an array.</p>")


def test_a_section_keeps_whole_sentences_and_new_words_of_the_others() -> None:
    section = (
        "<p>A fusion is one kernel. Later the scheduler decides, the scheduler.</p>"
        "<p>An allocation outlives neither program, executable nor device.</p>"
    )
    entries_found = index(f'<h2 id="a">A</h2>{section}')
    assert entries_found["a"][1] == (
        "<p>A fusion is one kernel.</p>"
        "<p>An allocation outlives neither program, executable nor device.</p>"
        "<sub>Later scheduler decides</sub>"
    )


def test_repeated_sentences_are_dropped_except_at_the_start_of_a_section() -> None:
    sentence = "Every allocation outlives its executable."
    entries_found = index(f'<h2 id="a">A</h2><p>{sentence}</p><h2 id="b">B</h2><p>It begins.</p><p>{sentence}</p>')
    assert (entries_found["a"][1], entries_found["b"][1]) == (f"<p>{sentence}</p>", "<p>It begins.</p>")


def test_names_in_tables_count_once_a_page_and_instructions_have_no_number() -> None:
    table = (
        "<table><tr><td>loop_<wbr>fusion.12</td><td>4,096</td></tr><tr><td>loop_fusion.13</td><td>7</td></tr></table>"
    )
    entries_found = index(f'<h2 id="a">A</h2>{table}<h2 id="b">B</h2><p>Again.</p>{table}')
    assert (entries_found["a"][1], entries_found["b"][1]) == ("<sub>loop_fusion</sub>", "<p>Again.</p>")


def test_the_words_after_the_sentences_are_those_of_which_the_page_has_no_form_yet() -> None:
    table = "<table><tr><td>Fusions fuse kernels</td><td>schedule</td><td>scheduled scheduler</td></tr></table>"
    entries_found = index(f'<h2 id="a">A kernel</h2><p>Fused.</p>{table}<h2 id="b">B</h2><p>It schedules.</p>')
    assert entries_found["a"][1] == "<p>Fused.</p><sub>Fusions schedule scheduler</sub>"


def test_text_of_a_page_is_escaped_in_the_index() -> None:
    entries_found = index('<h2 id="a">A</h2><p>An <code>f32[8]&lt;script&gt;</code> type.</p>')
    assert entries_found["a"][1] == "<p>An f32[8]&lt;script&gt; type.</p>"


def test_an_entry_keeps_its_given_rank() -> None:
    entries = [SearchEntry("all-gather", "all-gather", "", 4.5), SearchEntry("kept", "Kept", "")]
    items: list[dict[str, object]] = [{"location": f"cards/#{entry.id}"} for entry in entries]
    items.append({"location": "other/#all-gather"})
    rank(items, "cards/", entries)
    assert [item.get("boost") for item in items] == [4.5, None, None]


def test_queries_lead_to_their_section_and_missing_sections_are_reported() -> None:
    items: list[dict[str, object]] = [{"location": "cards/"}, {"location": "cards/#a"}, {"location": "other/#a"}]
    ranked = rank(items, "cards/", [], {"": ["card"], "a": ["OOM", "out of memory"], "b": ["lost"]})
    assert [item.get("tags") for item in items] == [["card"], ["OOM", "out of memory"], None]
    assert ranked == {"b"}


def test_words_for_a_section_that_no_page_has_fail_the_build(site: Site) -> None:
    site.write({"docs/a.md": "# A\n", "docs/data/search.toml": '"a.md#here" = ["there"]\n"a.md" = ["A"]\n'})
    assert site.build() == ["docs/data/search.toml: a.md has no section 'here' to find"]


def test_a_growing_page_is_indexed_by_the_start_of_its_sections() -> None:
    page = '<h2 id="a">A</h2><p>It begins so.</p><p>Words that nobody ever uttered anywhere follow.</p>'
    page += "<p>Unheard.</p>"
    assert "Unheard" in to_index(page)
    assert "Unheard" not in to_index(page, whole=False)
