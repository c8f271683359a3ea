"""The search index holds prose, names, opcodes and terms, and none of the compiler's text."""

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
    for word in ("Findable prose", "computed", "jax.jit lax.dot_general", "Printed prose", "More prose"):
        assert word in text
    for word in ("hidden", "caption", "findable ="):
        assert word not in text
    for word in ("hidden", "caption"):
        assert word in site.html("a")


def index(content: str, entries: tuple[SearchEntry, ...] = ()) -> dict[str, tuple[str, str]]:
    """Return what the search plugin makes of a page's HTML: title and text of each entry, by its id."""
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


def test_what_a_block_hands_over_stands_for_its_elements(site: Site) -> None:
    site.write({"docs/a.md": CARDS.format(a=1, b=2), "docs/b.md": CARDS.format(a="x", b="y")})
    assert site.build() == []
    index = json.loads((site.root / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = [(entry["location"], entry["title"], entry["text"], entry.get("boost")) for entry in index["docs"]]
    assert found[1:] == [
        (f"{page}/{part}", title, text, boost)
        for page, card in (("a", "#card-1"), ("b", "#card-x"))
        for part, title, text, boost in (
            ("", "Cards", "<p>All.</p>", None),
            (card, "a", "<p>The first f(x). The second.</p>", 4.0),
        )
    ]


def test_an_entry_that_is_none_fails_at_its_block(site: Site) -> None:
    site.write({"docs/a.md": '# A\n\n```python exec="on"\nsearch_entries = [("id",)]\n```\n'})
    [failure] = site.build()
    assert failure.startswith("docs/a.md:3: TypeError: SearchEntry.__init__() missing 2 required")


def test_a_term_is_an_entry_of_its_own() -> None:
    terms = '<dl><dt><strong id="tracer">tracer</strong></dt>\n<dd>What stands in for an array.</dd></dl>'
    assert index(terms)["tracer"] == ("tracer", "<p>What stands in for an array.</p>")


def test_a_section_is_shown_as_it_begins_and_each_further_word_counts_once() -> None:
    begins = "A fusion is one kernel. " * 8
    found = index(f'<h2 id="a">A</h2><p>{begins}</p><p>Later the scheduler, the scheduler, Scheduler.</p>')
    text = found["a"][1]
    assert text.startswith("<p>A fusion is one kernel. A fusion")
    assert text.endswith("Later scheduler</p>")


def test_names_in_tables_count_once_a_page_and_instructions_have_no_number() -> None:
    table = (
        "<table><tr><td>loop_<wbr>fusion.12</td><td>4,096</td></tr><tr><td>loop_fusion.13</td><td>7</td></tr></table>"
    )
    found = index(f'<h2 id="a">A</h2>{table}<h2 id="b">B</h2><p>Again.</p>{table}')
    assert (found["a"][1], found["b"][1]) == ("<p>loop_fusion</p>", "<p>Again.</p>")


def test_what_a_page_holds_cannot_leave_the_text_it_is_in() -> None:
    found = index('<h2 id="a">A</h2><p>An <code>f32[8]&lt;script&gt;</code> type.</p>')
    assert found["a"][1] == "<p>An f32[8]&lt;script&gt; type.</p>"


def test_an_entry_ranks_as_it_was_handed_over() -> None:
    entries = [SearchEntry("all-gather", "all-gather", "", 4.5), SearchEntry("kept", "Kept", "")]
    found: list[dict[str, object]] = [{"location": f"cards/#{entry.id}"} for entry in entries]
    found.append({"location": "other/#all-gather"})
    rank(found, "cards/", entries)
    assert [each.get("boost") for each in found] == [4.5, None, None]


def test_a_page_that_grows_with_each_release_is_found_by_how_its_sections_begin() -> None:
    page = f'<h2 id="a">A</h2><p>{"It begins so. " * 20}</p><p>Unheard.</p>'
    assert "Unheard" in to_index(page)
    assert "Unheard" not in to_index(page, whole=False)
