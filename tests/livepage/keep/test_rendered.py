"""A rebuild converts only changed pages again, and reused pages are equal to converted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    from conftest import Site

FIRST = '# First\n\n`= 6 * 7` and [second](second.md#there).\n\n--8<-- "part.md"\n'
SECOND = "# Second\n\n## There { #there }\n\nText.\n"


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that were converted, in order."""
    pages_run: list[str] = []
    render = Page.render

    def note(page: Page, *rest) -> None:  # noqa: ANN002 - as the original
        pages_run.append(page.file.src_uri)
        render(page, *rest)

    monkeypatch.setattr(Page, "render", note)
    return pages_run


@pytest.fixture
def twice(site: Site, converted: list[str]) -> Site:
    """A site of two pages, built twice."""
    site.write({"docs/first.md": FIRST, "docs/second.md": SECOND, "part.md": "One part.\n"})
    assert site.build() == []
    assert converted == ["index.md", "first.md", "second.md"]
    first = site.html("first")
    converted.clear()
    assert site.build() == []
    assert converted == []
    assert site.html("first") == first
    return site


def test_an_edited_page_is_converted_and_the_other_is_not(twice: Site, converted: list[str]) -> None:
    twice.write({"docs/first.md": FIRST + "\nMore.\n"})
    twice.build()
    assert converted == ["first.md"]
    assert "More." in twice.html("first")


def test_a_file_that_a_page_includes_counts_as_the_page(twice: Site, converted: list[str]) -> None:
    twice.write({"part.md": "Another part.\n"})
    twice.build()
    assert converted == ["first.md"]
    assert "Another part." in twice.html("first")


def test_a_removed_anchor_is_reported_for_an_unconverted_page(twice: Site, converted: list[str]) -> None:
    twice.write({"docs/second.md": SECOND.replace("#there", "#elsewhere")})
    assert [line for line in twice.build() if "docs/first.md:3" in line and "#there" in line] != []
    assert converted == ["second.md"]


def test_a_page_with_a_warning_warns_again(site: Site) -> None:
    site.write({"docs/first.md": "# First\n\n[gone](gone.md)\n"})
    assert [len(site.build()) for _ in range(2)] == [1, 1]
