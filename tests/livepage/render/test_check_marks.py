"""A check is a mark at the end of the sentence that it backs, wherever Markdown lets a check stand."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Site

CHECK = '```python check="{}"\nassert len([1]) == 1\n```'
PICTURE = """```python exec="on"
print('<figure class="drawing"><svg></svg><figcaption>The caption.</figcaption></figure>')
```"""
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
TABBED = """=== "One"

    In a pane.

    ```python check="pane"
    assert len([1]) == 1
    ```"""


class _Hosts(HTMLParser):
    """Notes what stands before each mark in the innermost element with an end of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[list[str]] = []
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "button" and ("class", "checked") in attrs:
            name, text = next(each for each in reversed(self.open) if each[0] not in {"span", "a", "code"})
            self.found.append((name, " ".join(text.split())))
        self.open.append([tag, ""])

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for each in self.open:
            each[1] += data


def find_hosts(site: Site, text: str) -> list[tuple[str, str]]:
    """Build a page and return the element that holds each mark, with what it says before the mark."""
    site.write({"docs/a.md": f"# A\n\n{text}\n"})
    assert site.build() == []
    reader = _Hosts()
    reader.feed(site.html("a"))
    return reader.found


def test_a_mark_stands_behind_the_last_word_of_the_paragraph(site: Site) -> None:
    hosts = find_hosts(site, f"Nothing.\n\nOne is `= 1`, so they say.\n\n{CHECK.format('a')}")
    assert hosts == [("p", "One is 1, so they say.")]
    assert '<span class="end">say.<button' in site.html("a")


def test_of_several_checks_each_has_its_mark(site: Site) -> None:
    hosts = find_hosts(site, f"They say.\n\n{CHECK.format('a')}\n\n{CHECK.format('b')}")
    assert [name for name, _ in hosts] == ["p", "p"]
    assert re.findall('aria-label="Checked in this build: (.)"', site.html("a")) == ["a", "b"]


def test_behind_a_list_the_mark_stands_in_its_last_item(site: Site) -> None:
    text = f"* One.\n* Two.\n    * Three.\n\n{CHECK.format('a')}\n\nTerm\n:   Means.\n\n{CHECK.format('b')}"
    assert find_hosts(site, text) == [("li", "Three."), ("dd", "Means.")]


def test_in_an_item_the_mark_stands_behind_its_text(site: Site) -> None:
    inside = CHECK.format("a").replace("\n", "\n    ")
    assert find_hosts(site, f"* One is so.\n\n    {inside}\n\n* Two.") == [("p", "One is so.")]


def test_behind_a_picture_the_mark_stands_in_its_caption(site: Site) -> None:
    assert find_hosts(site, f"Before:\n\n{PICTURE}\n\n{CHECK.format('a')}") == [("figcaption", "The caption.")]


def test_behind_a_table_or_what_printed_nothing_it_stands_in_the_paragraph_before(site: Site) -> None:
    silent = '```python exec="on"\nx = 1\n```'
    text = f"So it is.\n\n{TABLE}\n\n{CHECK.format('a')}\n\nThen.\n\n{silent}\n\n{CHECK.format('b')}"
    assert find_hosts(site, text) == [("p", "So it is."), ("p", "Then.")]


def test_where_its_section_says_nothing_it_has_a_line_of_its_own(site: Site) -> None:
    find_hosts(site, f"Said.\n\n## B\n\n{CHECK.format('a')}")
    assert '<p class="checks"><button' in site.html("a")


def test_a_mark_stays_in_its_pane(site: Site) -> None:
    assert find_hosts(site, f"Before.\n\n{TABBED}") == [("p", "In a pane.")]


def test_a_claim_is_text_to_who_reads_and_to_who_listens(site: Site) -> None:
    find_hosts(site, f"So.\n\n{CHECK.format('1 < 2 & so on')}")
    assert 'aria-label="Checked in this build: 1 &lt; 2 &amp; so on"' in site.html("a")
    assert '<p class="claim">Checked in this build: 1 &lt; 2 &amp; so on</p>' in site.html("a")


def test_a_mark_opens_its_own_check(site: Site) -> None:
    find_hosts(site, f"So.\n\n{CHECK.format('a')}\n\nSo.\n\n{CHECK.format('b')}")
    html = site.html("a")
    opens = re.findall('class="checked" popovertarget="([^"]+)"', html)
    assert opens == re.findall('<section class="check" id="([^"]+)" popover', html)
    assert len(set(opens)) == 2


def test_the_check_of_a_notebook_is_such_a_mark(site: Site) -> None:
    cells = '# %% [markdown]\n# # Lab\n#\n# It is so.\n\n# %% check="So it is"\nassert len([1]) == 1\n'
    site.write({"docs/lab.py": cells})
    assert site.build() == []
    html = site.html("lab")
    assert '<span class="end">so.<button aria-label="Checked in this build: So it is"' in html
    assert '<p class="claim">Checked in this build: So it is</p>' in html
