"""The mark of a check at the end of its sentence, in every Markdown element."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

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
    """A parser that records the text before each mark in its innermost block element."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[list[str]] = []
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "button" and ("class", "checked") in attrs:
            name, text = next(element for element in reversed(self.open) if element[0] not in {"span", "a", "code"})
            self.found.append((name, " ".join(text.split())))
        self.open.append([tag, ""])

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element[1] += data


SILENT = '```python exec="on"\nx = 1\n```'
INSIDE = CHECK.format("a").replace("\n", "\n    ")
PLACES = {
    "a paragraph": ("Nothing.\n\nOne is `= 1`, so they say.\n\n{a}", [("p", "One is 1, so they say.")]),
    "a list": ("* One.\n* Two.\n    * Three.\n\n{a}", [("li", "Three.")]),
    "a definition": ("Term\n:   Means.\n\n{a}", [("dd", "Means.")]),
    "an item": (f"* One is so.\n\n    {INSIDE}\n\n* Two.", [("p", "One is so.")]),
    "a picture": (f"Before:\n\n{PICTURE}\n\n{{a}}", [("figcaption", "The caption.")]),
    "a table": (f"So it is.\n\n{TABLE}\n\n{{a}}", [("p", "So it is.")]),
    "what printed nothing": (f"Then.\n\n{SILENT}\n\n{{a}}", [("p", "Then.")]),
    "a pane": (f"Before.\n\n{TABBED}", [("p", "In a pane.")]),
    "another section": ("Said.\n\n## B\n\n{a}", [("p", "")]),
}


def build(site: Site, text: str) -> str:
    """Build a page and return its HTML."""
    site.write({"docs/a.md": f"# A\n\n{text}\n"})
    assert site.build() == []
    return site.html("a")


@pytest.mark.parametrize("place", PLACES)
def test_a_mark_is_at_the_end_of_the_text_that_its_check_supports(site: Site, place: str) -> None:
    text, hosts = PLACES[place]
    reader = _Hosts()
    html = build(site, text.replace("{a}", CHECK.format("a")))
    reader.feed(html)
    assert reader.found == hosts
    assert ('<p class="checks"><button' in html) is (place == "another section")


def test_each_check_has_a_mark_of_its_own_that_names_the_claim_as_text(site: Site) -> None:
    html = build(site, f"They say.\n\n{CHECK.format('1 < 2 & so on')}\n\n{CHECK.format('b')}")
    assert '<span class="end">say.<button' in html
    labels = ["Checked in this build: 1 &lt; 2 &amp; so on", "Checked in this build: b"]
    assert re.findall('aria-label="(Checked[^"]*)"', html) == re.findall('<p class="claim">(.*?)</p>', html) == labels
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
