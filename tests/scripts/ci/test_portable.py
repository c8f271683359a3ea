"""The pages build with another builder, and the script finds errors that its exit code hides."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from typing import TYPE_CHECKING

import pytest

from ci import portable
from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("maintainers and continuous integration alone run this")

PAGE = """
    # Home { #home }

    Two is `= 1 + 1`, and [there](deep/other.md#there).

    ```python exec="on"
    print("[Printed](deep/other.md) and **bold**.")
    ```

    ```python check="Numbers add up"
    assert sum([1, 1]) == 2
    ```

    === "CPU"

        `= 40 + 2`

    Two and two are four.
    { .answer }
    """
OTHER = "# Other\n\n## There { #there }\n\n[Home](../index.md#home)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of two pages with the project's own extensions and templates."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    text = re.sub(r"^(?:extra_css|extra_javascript): .*$", "", text, flags=re.MULTILINE)
    shutil.copytree(ROOT / "docs" / "overrides", tmp_path / "docs" / "overrides")
    (tmp_path / "mkdocs.yml").write_text(
        f"{text}\nnav:\n  - Home: index.md\n  - Other: deep/other.md\n", encoding="utf-8"
    )
    # The foot of each page leads to these.
    foot = {"build.md": "# Build\n\n## Cite { #cite }\n", "contributing.md": "# More\n\n## Licence { #licence }\n"}
    for name, page in {"index.md": PAGE, "deep/other.md": OTHER, **foot}.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(textwrap.dedent(page).lstrip(), encoding="utf-8")
    (tmp_path / "snippets").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in ("livepage", "inside_xla"):
        (tmp_path / "scripts" / name).symlink_to(ROOT / "scripts" / name)
    return tmp_path


def change(folder: Path, old: str, new: str) -> None:
    """Replace a text of the first page."""
    path = folder / "docs" / "index.md"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def build(folder: Path) -> tuple[int, list[str]]:
    """Build the folder's site with the other builder; return the exit status and unexpected lines of its log."""
    return portable.build_copy(folder, ROOT / ".cache" / "xla_inspect")


def test_pages_build_whole_and_what_the_hook_makes_is_said_to_be_missing(folder: Path) -> None:
    assert build(folder) == (0, [])
    assert portable.check_pages(folder) == []
    text = (folder / "site" / "index.html").read_text(encoding="utf-8")
    assert text.count('<span class="value">') == 2
    assert 'href="deep/other/"' in text
    assert (folder / "site" / "sitemap.xml").read_text(encoding="utf-8").count("<loc>") == 4
    missing = "\n".join(portable.list_missing(folder))
    for word in ("no reading times", "search index", "llms.txt", "feed.xml", "Markdown beside"):
        assert word in missing


def test_reading_times_and_a_small_search_index_are_made_of_what_was_built(folder: Path) -> None:
    assert build(folder) == (0, [])
    portable.finish(folder / "site")
    assert "About 1 minute to read" in (folder / "site" / "index.html").read_text(encoding="utf-8")
    index = json.loads((folder / "site" / portable.SEARCH).read_text(encoding="utf-8"))
    texts = {item["location"]: item["text"] for item in index["items"]}
    assert texts["deep/other/#there"] == "<p>Home</p>"
    assert "Two is 2, and there." in texts[""]
    assert "assert sum" not in "".join(texts.values())
    missing = "\n".join(portable.list_missing(folder))
    assert "reading time" not in missing
    assert "search index" not in missing


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("assert sum([1, 1]) == 2", "assert sum([1, 1]) == 3", "docs/index.md:10: AssertionError"),
        ("`= 1 + 1`", "`= 1 / 0`", "docs/index.md:3: ZeroDivisionError"),
        ('exec="on"', 'exec="on" sesion="a"', "docs/index.md:5: "),
        ("deep/other.md#there", "deep/nowhere.md", "nowhere.md"),
    ],
)
def test_a_failing_page_or_dead_link_stops_the_build(folder: Path, old: str, new: str, says: str) -> None:
    change(folder, old, new)
    code, message = build(folder)
    assert code != 0 or message != []
    assert says in "\n".join(message)


def test_errors_without_log_messages_are_found(folder: Path) -> None:
    assert build(folder) == (0, [])
    home, other = folder / "site" / "index.html", folder / "site" / "deep" / "other" / "index.html"
    text = home.read_text(encoding="utf-8")
    text = text.replace('<section class="check"', "<section", 1).replace('href="deep/other/"', 'href="deep/other.md"')
    text = text.replace("</h1>", '</h1><a href="../outside/">moved</a>', 1)
    home.write_text(text.replace('<span class="value">2</span>', "livepage-value-0"), encoding="utf-8")
    other.unlink()
    faults = portable.check_pages(folder)
    assert "docs/deep/other.md: it was not built" in faults
    assert "docs/index.md: 0 of 1 checks are on the page" in faults
    assert "docs/index.md: 1 of 2 values are on the page" in faults
    assert "docs/index.md: a mark of ours was left as it is: livepage-value-0" in faults
    assert 'docs/index.md: the link "deep/other.md" leads nowhere' in faults
    assert not [fault for fault in faults if "outside" in fault]
    assert "links in printed HTML: 1 lead out of the site" in portable.list_missing(folder)


def test_a_compiler_log_message_is_not_an_error() -> None:
    logged = """\
E1126 05:05:14.528623   12389 config_assigner.cc:536] Could not get config for HLO: %fusion = f32[4] fusion(%x), calls=
(param: f32[4]) -> f32[4] {
  ROOT %add = f32[4] add(%param, %param)
}. Status: NOT_FOUND
=== Source Location Trace: ===
external/xla/config_assigner.cc:349
compiling layernorm for h100, with dumps ...
Warning: page does not exist
   [ index.md:3:31 ]"""
    complaints = list(portable.list_complaints(logged.splitlines()))
    assert complaints == ["Warning: page does not exist", "   [ index.md:3:31 ]"]
