"""A page that is rendered alone has the failures that a build of the whole site reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    import pytest
    from conftest import Site
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

OTHER = """\
# Other

## Kernels { #kernels }

```python exec="on" idprefix=""
print("### Printed { #" + "printed }")
```
"""
LINKS = "[a](other.md) [b](other.md#kernels) [c](other.md#printed)"


def test_dead_links_missing_anchors_and_a_page_outside_the_navigation_are_reported(site: Site) -> None:
    site.write({"docs/other.md": OTHER, "docs/page.md": f"# Page\n\n{LINKS}\n\n[d](gone.md)\n\n[e](other.md#gone)\n"})
    config = site.root / "mkdocs.yml"
    config.write_text(config.read_text(encoding="utf-8").replace("  - page.md\n", ""), encoding="utf-8")
    # The other page prints one of the anchors, so missing anchors of that page are reported only after it has run.
    for expected in (["1", "5"], ["1", "5", "7"]):
        for _ in range(2):
            failures = [str(failure) for failure in site.render("page")[1]]
            assert [failure.split(":")[1] for failure in failures] == expected
        site.render("other")
    assert failures[0] == "docs/page.md:1: the navigation lacks this page: add it to `nav` in mkdocs.yml"
    assert "a link 'gone.md', but the target is not found" in failures[1]
    assert "'other.md' does not contain an anchor '#gone'" in failures[2]


def test_a_rendered_page_is_stored_unless_a_block_failed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write({"docs/other.md": OTHER, "docs/page.md": '# Page\n\n```python exec="on"\nprint(1 / 0)\n```\n'})
    monkeypatch.setattr("livepage.keep.inputs._hashes", {})  # as in a new process, which has read no file
    renderings = []
    render = Page.render

    def note_and_render(page: Page, config: MkDocsConfig, files: Files) -> None:
        renderings.append(page.file.src_uri)
        render(page, config, files)

    monkeypatch.setattr(Page, "render", note_and_render)
    first, second = site.render("other"), site.render("other")
    assert first == second
    assert "Printed" in first[0]
    assert [len(site.render("page")[1]) for _ in range(2)] == [1, 1]
    assert renderings == ["other.md", "page.md", "page.md"]
