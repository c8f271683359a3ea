"""The extension without MkDocs: any builder gets the same page, or an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING

import markdown
import pytest

from livepage.read import PageError

if TYPE_CHECKING:
    from conftest import Site

EXTENSIONS = ["pymdownx.highlight", "pymdownx.snippets", "pymdownx.superfences", "tables", "toc", "livepage.extension"]
PAGE = """
    ---
    description: front matter, which a builder takes away
    ---
    # A

    ```python exec="on"
    x = 1234
    print("- a [link](#b)\\n- `code`")
    ```

    ## B `= x` {#b}

    | a |
    |---|
    | `= x | 1` |

    ```python check="It holds"
    assert x == 1234
    ```
    """


def _convert(site: Site, text: str) -> str:
    config = {"livepage.extension": {"root": str(site.root)}}
    return markdown.Markdown(extensions=[*EXTENSIONS, "attr_list"], extension_configs=config).convert(text)


def test_a_builder_without_hooks_gets_the_same_page(site: Site) -> None:
    """The extension finds out itself which page it renders."""
    site.write({"docs/a.md": PAGE, "docs/b.md": "# B\n"})
    assert site.build() == []
    html = site.html("a").replace('<a class="headerlink" href="#a" title="Permanent link">&para;</a>', "")
    html = html.replace('<a class="headerlink" href="#b" title="Permanent link">&para;</a>', "")
    body = (site.root / "docs" / "a.md").read_text().split("---\n")[2]
    assert _convert(site, body).replace('"highlight"', '"language-python highlight"') == html


def test_a_failing_page_raises_without_a_listener(site: Site) -> None:
    """The exception stops such a builder, and names page and line."""
    site.write({"docs/a.md": PAGE.replace("== 1234", "== 1235")})
    body = (site.root / "docs" / "a.md").read_text().split("---\n")[2]
    with pytest.raises(PageError) as failure:
        _convert(site, body)
    assert str(failure.value) == "docs/a.md:18: AssertionError: left was 1234, right was 1235"


def test_one_converter_may_render_page_after_page(site: Site) -> None:
    """No state of a page is left for the next page."""
    site.write({"docs/a.md": "# A\n\n`= 1`\n", "docs/b.md": "# B\n\n`= 2` `= 3`\n"})
    config = {"livepage.extension": {"root": str(site.root)}}
    converter = markdown.Markdown(extensions=EXTENSIONS, extension_configs=config)
    pages = [converter.reset().convert((site.root / "docs" / name).read_text()) for name in ("a.md", "b.md", "a.md")]
    assert [page.count('class="value"') for page in pages] == [1, 2, 1]


@pytest.mark.parametrize("opens", ['??? note "A fold"', '=== "A tab"', "- an item"])
def test_indented_html_is_not_in_a_paragraph(site: Site, opens: str) -> None:
    """A browser closes a `<p>` at a `<figure>` or a `<div>`, and the `</p>` after it closes nothing."""
    figure = "<figure><svg><title>*a*\nb</title></svg><figcaption>c</figcaption></figure>"
    text = f"# A\n\n{opens}\n\n    {figure.replace(chr(10), chr(10) + '    ')}\n\n    *So* it <b>is</b>.\n"
    site.write({"docs/a.md": text})
    assert site.build() == []
    assert figure in site.html("a")
    assert "<p><figure" not in site.html("a")
    assert "</figure></p>" not in site.html("a")
    assert "<p><em>So</em> it <b>is</b>.</p>" in site.html("a")
