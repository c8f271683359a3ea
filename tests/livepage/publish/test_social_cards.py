"""Social cards: title, description and a figure of each page."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from jinja2 import Environment, FileSystemLoader

from livepage.publish import social_cards

if TYPE_CHECKING:
    from conftest import Site

ROOT = Path(__file__).resolve().parents[3]
PAGES = {
    "docs/index.md": "---\ndescription: What it is.\n---\n# Home\n",
    "docs/deep/fusion.md": (
        '# Fusion\n\n<figure class="bars"><svg viewBox="0 0 10 10"><rect width="10" height="10"/></svg></figure>\n'
    ),
}
needs_browser = pytest.mark.skipif(not social_cards.find_browser(), reason="Chromium is not installed")


@pytest.fixture
def published(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site of two pages with an address."""
    monkeypatch.setenv("SITE_URL", "https://example.org/xla/")
    site.write(PAGES)
    return site


def drawn(site: Site) -> dict[str, tuple[int, int]]:
    """Return width and height of each card in the built site."""
    folder = site.root / "site" / "assets" / "cards"
    return {file.name: struct.unpack(">II", file.read_bytes()[16:24]) for file in sorted(folder.glob("*"))}


@needs_browser
def test_each_page_has_a_card_of_the_size_that_is_asked_for(published: Site) -> None:
    assert published.build() == []
    assert drawn(published) == {"deep-fusion.png": (1200, 630), "index.png": (1200, 630)}
    assert [*(published.root / "site").rglob("card-draft.html")] == []


@needs_browser
def test_a_card_is_redrawn_only_if_its_page_changes(published: Site) -> None:
    published.build()
    first = {file.name for file in (published.root / ".cache" / "cards").iterdir()}
    published.log.clear()
    published.build()
    assert [line for line in published.log if "cards" in line] == []
    published.write({"docs/index.md": "# Another home\n"})
    published.build()
    second = {file.name for file in (published.root / ".cache" / "cards").iterdir()}
    assert (len(first & second), len(second)) == (1, 2)


def test_a_site_without_an_address_or_without_a_browser_has_no_cards_and_is_built(
    published: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(social_cards, "_BROWSERS", ("no-such-browser",))
    assert published.build() == []
    assert drawn(published) == {}
    assert [line for line in published.log if "no social cards" in line] != []
    monkeypatch.undo()
    assert published.build() == []
    assert drawn(published) == {}


def page(content: str, **meta: str) -> SimpleNamespace:
    """Return a stand-in for a page of MkDocs with this HTML and metadata."""
    return SimpleNamespace(content=content, meta=meta, title="Fusion &amp; <code>jit</code>", is_homepage=False)


FIGURES = """
<figure class="table"><table></table></figure>
<figure class="bars"><svg id="first"></svg><figcaption>Said below.</figcaption></figure>
<figure class="roofline"><svg id="second"></svg></figure>
"""


def test_a_card_shows_the_first_drawing_of_the_page_without_its_caption() -> None:
    card = social_cards.write_card(page(FIGURES, description="Why &lt;it&gt; fuses."), "", "Inside <XLA>")
    assert '<div class="picture"><figure class="bars"><svg id="first"></svg></figure></div>' in card
    assert "<h1>Fusion &amp; jit</h1><p>Why &lt;it&gt; fuses.</p>" in card
    assert "Inside &lt;XLA&gt;" in card


def test_a_page_can_choose_the_figure_of_its_card() -> None:
    assert 'id="second"' in social_cards.write_card(page(FIGURES, card="roofline"), "", "Inside XLA")
    assert "<table>" in social_cards.write_card(page(FIGURES, card="table"), "", "Inside XLA")


def test_a_page_without_a_drawing_has_its_title_in_large() -> None:
    card = social_cards.write_card(page("<p>Text.</p>"), "", "Inside XLA")
    assert ('picture"' in card, "600 96px" in card) == (False, True)


def test_a_card_has_the_styles_of_its_page() -> None:
    html = '<link rel="stylesheet" href="../a.css"><link rel="icon" href="b.svg">'
    assert '<link rel="stylesheet" href="../a.css">' in social_cards.write_card(page(""), html, "Inside XLA")


@pytest.mark.parametrize(("name", "address"), [("practice/hlo.py", "practice-hlo"), ("index.md", "index")])
def test_the_card_of_a_page_is_named_as_the_page(name: str, address: str) -> None:
    assert social_cards.find_address(name) == f"assets/cards/{address}.png"


def test_the_head_of_a_page_names_its_card_by_its_whole_address_where_there_is_one() -> None:
    env = Environment(loader=FileSystemLoader(ROOT / "docs" / "overrides" / "partials"), autoescape=True)
    env.filters |= {"card_address": social_cards.find_address, "url": str}
    page = SimpleNamespace(
        meta={}, title="HLO", is_homepage=False, url="practice/hlo/", file=SimpleNamespace(src_uri="practice/hlo.py")
    )
    config = {"site_url": "https://example.org/xla/", "site_name": "Inside XLA", "site_description": "It."}
    for cards, kind in ((True, "summary_large_image"), (False, "summary")):
        head = env.get_template("describe.html").render(page=page, config=config | {"extra": {"cards": cards}})
        image = '<meta property="og:image" content="https://example.org/xla/assets/cards/practice-hlo.png">'
        assert (image in head, f'content="{kind}"' in head) == (cards, True)
