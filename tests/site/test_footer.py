"""The foot of a page links to its source and to an issue form if the repository is known."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader

PARTIALS = Path(__file__).resolve().parents[2] / "docs" / "overrides" / "partials"
REPOSITORY = "https://repository.example/inside-xla"


def link_texts(repository: str, *, feed: bool = True) -> dict[str, str]:
    """Return the links of a page's foot by their texts."""
    environment = Environment(loader=FileSystemLoader(PARTIALS), autoescape=False)  # noqa: S701 - as MkDocs does
    environment.filters.update(url=lambda address: address, urlencode=quote)
    page = SimpleNamespace(
        title="Fusion",
        file=SimpleNamespace(src_uri="fusion.md"),
        previous_page=None,
        next_page=None,
    )
    html = environment.get_template("footer.html").render(
        page=page, config=SimpleNamespace(repo_url=repository, extra={"feed": feed}), lang=SimpleNamespace(t=str)
    )
    return {text: address for address, text in re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', html)}


def test_without_a_repository_a_page_names_none() -> None:
    assert list(link_texts("")) == ["Cite", "Feed", "llms.txt", "Apache-2.0"]


def test_with_one_a_page_can_be_edited_and_reported() -> None:
    links = link_texts(REPOSITORY + "/")
    assert links["Edit this page"] == f"{REPOSITORY}/edit/main/docs/fusion.md"
    assert links["Report an issue"] == f"{REPOSITORY}/issues/new?title=Fusion"


def test_a_site_without_a_feed_links_none() -> None:
    assert "Feed" not in link_texts("", feed=False)
