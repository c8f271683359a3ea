"""Options in inline code, within which no browser may end a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livepage.render.html_output import keep_options

if TYPE_CHECKING:
    from conftest import Site

PAGE = """
    # A

    Give `--no-times` or `tool --lines-of lib -o FILE`, in [`--html FILE`](b.md).

    ```python exec="on"
    print("| a |\\n|---|\\n| <code>--try all</code> |")
    ```

    ```sh
    tool --in-listing
    ```
    """


def _list_options(html: str) -> list[str]:
    return re.findall(r'<span class="option">(.*?)</span>', html)


def test_options_in_prose_in_links_and_in_output_are_whole(site: Site) -> None:
    site.write({"docs/a.md": PAGE, "docs/b.md": "# B\n"})
    assert site.build() == []
    assert _list_options(site.html("a")) == ["--no-times", "--lines-of", "-o", "--html", "--try", "--in-listing"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("--target=h100", ["--target"]),
        ("[--try all]", ["--try"]),
        ("XLA_FLAGS=--xla_dump_to=DIR", ["--xla_dump_to"]),
        ("dot-merger", []),
        ("a - b", []),
        ("x -1", []),
        ("(f32[4])-&gt;f32[4]", []),
        ("--" + "a" * 30, ["--" + "a" * 30]),
        ("--" + "a" * 31, []),
    ],
)
def test_only_an_option_that_fits_on_a_phone_is_marked(text: str, options: list[str]) -> None:
    marked = keep_options(f"<p><code>{text}</code></p>")
    assert _list_options(marked) == options
    assert re.sub(r"</?span[^>]*>", "", marked) == f"<p><code>{text}</code></p>"


@pytest.mark.parametrize("tag", ["pre", "script", "style", "svg", "template"])
def test_listings_scripts_and_drawings_stay_unchanged(tag: str) -> None:
    html = f"<{tag}><code>--target</code></{tag}>"
    assert keep_options(html) == html
