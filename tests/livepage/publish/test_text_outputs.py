"""Outputs for machines: each page as Markdown, a list of pages, a feed and a sitemap."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from jinja2 import Environment
from mkdocs.config import load_config

from livepage.publish import text_outputs

if TYPE_CHECKING:
    from conftest import Site

ROOT = Path(__file__).resolve().parents[3]
HOME = "# Home\n\n## The [way](deep/fusion.md) { #way }\n\nThe [way](deep/fusion.md#kinds).\n"
PAGE = """
    ---
    description: What this page is about.
    ---

    # Fusion

    An answer with `= 40 + 2` values. { .answer }

    ## Kinds { #kinds }

    See [home](../index.md#way), [itself](#kinds) and [elsewhere](https://example.org/a.md).

    ```python exec="on" source="above" result="hlo"
    print("%add.1 = f32[8]{0} add(%a, %b)")
    ```

    ```python check="Numbers add up"
    assert sum([1, 1]) == 2
    ```

    ```python exec="on"
    print('??? note "A fold"\\n\\n    [Inside](../index.md)\\n\\n    ```text\\n    {kept: so} [x](index.md)\\n    ```')
    print('<figure><svg id="drawn"><text>no</text></svg><figcaption>A <b>graph</b>.</figcaption></figure>')
    ```

    === "CPU"

        One kernel.

    * An entry. { #A01 }
    """


@pytest.fixture
def site_build(site: Site) -> Site:
    """A site of two pages."""
    site.write({"docs/index.md": HOME, "docs/deep/fusion.md": PAGE})
    assert site.build() == []
    return site


def read(site: Site, name: str) -> str:
    """Return a file of the built site."""
    return (site.root / "site" / name).read_text(encoding="utf-8")


def test_each_page_has_a_markdown_file_with_printed_output(site_build: Site) -> None:
    text = read(site_build, "deep/fusion/index.md")
    assert "description:" not in text
    assert "An answer with 42 values.\n" in text
    assert "```hlo\n%add.1 = f32[8]{0} add(%a, %b)\n```" in text
    assert '```python\nprint("%add.1' in text
    assert "Checked in this build: Numbers add up\n\n```python\nassert sum([1, 1]) == 2\n```" in text
    assert "livepage" not in text


def test_special_markdown_is_written_in_portable_form(site_build: Site) -> None:
    text = read(site_build, "deep/fusion/index.md")
    assert "**A fold**\n\n[Inside](../../index.md)\n" in text
    assert "```text\n{kept: so} [x](index.md)\n```" in text
    assert "**CPU**\n\nOne kernel.\n" in text
    assert "*(On the page: a picture. A graph.)*" in text
    assert "drawn" not in text


def test_links_between_texts_and_to_anchors_work(site_build: Site) -> None:
    text = read(site_build, "deep/fusion/index.md")
    assert re.findall(r"\]\((.*?)\)", text) == [
        "../../index.md#way", "#kinds", "https://example.org/a.md", "../../index.md", "index.md"
    ]  # fmt: skip
    assert '<a id="kinds"></a>\n\n## Kinds\n' in text
    assert '* <a id="A01"></a>An entry.' in text
    assert read(site_build, "index.md") == (
        '# Home\n\n<a id="way"></a>\n\n## The [way](deep/fusion/index.md)\n\nThe [way](deep/fusion/index.md#kinds).\n'
    )


def test_the_list_of_pages_describes_each_page(site_build: Site) -> None:
    assert "- [Fusion](deep/fusion/index.md): What this page is about.\n" in read(site_build, "llms.txt")


def test_the_list_of_pages_names_them_in_full_where_the_site_has_an_address(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_URL", "https://example.org/xla")
    site.write({"docs/a.md": "---\nfeed: new-\n---\n# A\n\n## Newest {#new-2}\n\nIt is <new> & so on.\n"})
    assert site.build() == []
    assert "](https://example.org/xla/a/index.md)" in read(site, "llms.txt")
    channel = ET.fromstring(read(site, "feed.xml")).find("channel")  # noqa: S314 - the test's own build
    assert channel is not None
    assert [channel.findtext(f"item/{name}") for name in ("title", "link", "guid")] == [
        "Newest", "https://example.org/xla/a/#new-2", "a/#new-2"
    ]  # fmt: skip


FEED = """
    ---
    feed: jax-
    ---

    # What changed

    ## How it is measured {#how}

    Not in the feed.

    ## JAX 2 {#jax-2}

    Two passes are gone & one came.

    | kernels |
    | ------- |
    | 7       |

    ### On the CPU

    Nothing.

    ## JAX 1 {#jax-1}

    A [start](index.md).
    """


JAX_2 = (
    "<p>Two passes are gone &amp; one came.</p><table> <thead> <tr> <th>kernels</th> </tr> </thead> "
    "<tbody> <tr> <td>7</td> </tr> </tbody> </table><h3>On the CPU</h3><p>Nothing.</p>"
)


def test_the_feed_has_the_sections_that_a_page_names(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    site.write({"docs/changed.md": FEED})
    assert site.build() == []
    channel = ET.fromstring(read(site, "feed.xml")).find("channel")  # noqa: S314 - the test's own build
    assert channel is not None
    assert [[part.text for part in item] for item in channel.findall("item")] == [
        ["JAX 2", "changed/#jax-2", "changed/#jax-2", JAX_2],
        ["JAX 1", "changed/#jax-1", "changed/#jax-1", "<p>A start.</p>"],
    ]
    assert channel.findtext("lastBuildDate") == "Tue, 14 Nov 2023 22:13:20 +0000"


def test_without_such_a_page_there_is_no_feed(site_build: Site) -> None:
    assert not (site_build.root / "site" / "feed.xml").exists()


@pytest.mark.parametrize("canonical", ["https://example.org/a/", ""])
def test_the_sitemap_lists_every_page_with_and_without_the_sites_address(canonical: str) -> None:
    template = Environment(autoescape=True).from_string(
        (ROOT / "docs" / "overrides" / "sitemap.xml").read_text(encoding="utf-8")
    )
    page = SimpleNamespace(canonical_url=canonical, url="a/", update_date="2026-11-20", is_link=False)
    tree = ET.fromstring(template.render(pages=[SimpleNamespace(page=page)]))  # noqa: S314 - the test's own
    assert [part.text for part in tree.iter() if part.tag.endswith(("loc", "lastmod"))] == [
        canonical or "a/", "2026-11-20"
    ]  # fmt: skip


def test_every_page_of_the_navigation_is_in_the_list_of_pages() -> None:
    """The project's own navigation, without building it."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    sources = re.findall(r"[\w/-]+\.(?:md|py)", str(config.nav))
    assert [text_outputs.find_address(name) for name in ("index.md", "practice/index.md", "a.md", "practice/b.py")] == [
        "index.md", "practice/index.md", "a/index.md", "practice/b/index.md"
    ]  # fmt: skip
    assert len({text_outputs.find_address(name) for name in sources}) == len(sources)
    assert os.sep not in "".join(map(text_outputs.find_address, sources)) or os.sep == "/"


FRONT = """
    ---
    title: A </title><script>alert(1)</script> & [b](c)
    description: '"><script>alert(2)</script> & [d](e)'
    ---

    # A
    """


def test_front_matter_is_text_wherever_it_is_shown(site: Site) -> None:
    """It is text in the head, the navigation and the header of the project's theme, and in the lists of pages."""
    site.write({"docs/odd.md": FRONT})
    config = site.root / "mkdocs.yml"
    theme = f"theme: {{custom_dir: {ROOT / 'docs/overrides'}}}"
    config.write_text(re.sub("^theme: .*", theme, config.read_text(), flags=re.MULTILINE))
    assert site.build() == []
    for page in ("index.html", "odd/index.html"):
        text = (site.root / "site" / page).read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "A &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; [b](c)" in text
        assert "&amp;lt;" not in text
    described = 'content="&#34;&gt;&lt;script&gt;alert(2)&lt;/script&gt; &amp; [d](e)"'
    assert (site.root / "site" / "odd" / "index.html").read_text(encoding="utf-8").count(described) == 2
    listed = (site.root / "site" / "llms.txt").read_text(encoding="utf-8").splitlines()[-1]
    title = r"A \</title>\<script>alert(1)\</script> & \[b\](c)"
    assert listed == rf'- [{title}](odd/index.md): ">\<script>alert(2)\</script> & \[d\](e)'
