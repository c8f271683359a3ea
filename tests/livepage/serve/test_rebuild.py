"""An edited page of a served site is built alone, with the same result as a full build."""

from __future__ import annotations

import gc
import random
from typing import TYPE_CHECKING

import pytest
from markdown import Markdown
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.structure.pages import Page

from livepage.serve import Rebuild, rebuild
from livepage.workers import Workers

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Served

pytestmark = pytest.mark.long(
    "authors alone see it; otherwise a sentence and a block are edited", but=["a sentence", "code"]
)

EDITS = {
    "a sentence": ("docs/first.md", "A sentence.", "A sentence that was not here."),
    "a sentence beside a block": ("docs/second.md", "A sentence,", "Another sentence,"),
    "a sentence on the home page": ("docs/index.md", "A sentence.", "A sentence that was not here."),
    "a heading that nobody links to": ("docs/news.md", "## v1 { #v1 }", "## v2 { #v2 }"),
    "the only heading of the feed": ("docs/news.md", "## v1 { #v1 }", "## Else { #else }"),
    "a heading that others link to": ("docs/first.md", "## There { #there }", "## There { #elsewhere }"),
    "a title": ("docs/first.md", "# First", "# The first"),
    "the front matter": ("docs/news.md", "feed: v", "feed: w\ndescription: New"),
    "a link to another page": ("docs/second.md", "first.md#there", "first.md#nowhere"),
    "a link to no page": ("docs/second.md", "first.md#there", "gone.md"),
    "a module": ("snippets/helper.py", "one", "two"),
    "an included file": ("part.md", "A part", "Another part"),
    "code": ("docs/second.md", "helper.WORD +", "helper.WORD * 2 +"),
    "code that fails": ("docs/second.md", "helper.WORD +", "helper.NOWHERE +"),
    "a check that fails": ("docs/second.md", "assert helper.WORD", "assert not helper.WORD"),
    "a value that fails": ("docs/first.md", "6 * 7", "6 / 0"),
    "the navigation": ("mkdocs.yml", "- first.md", "- A name: first.md"),
    "a template": ("theme/main.html", "<article>", "<article >"),
}
ALONE = {edit for edit, (name, *_) in EDITS.items() if name.endswith(".md")} - {"a title", "the front matter"}


def same_as_a_full_build(served: Served, heard: list[str], folder: Path) -> None:
    """Assert that the served folder and its warnings equal those of a full build."""
    edits, expected, warnings = served.compare(folder)
    assert "search/search_index.json" in expected
    assert sorted(edits) == sorted(expected)
    assert [name for name in expected if edits[name] != expected[name]] == []
    assert sorted(set(heard)) == sorted(set(warnings))


@pytest.mark.parametrize("edit", EDITS)
def test_after_an_edit_and_after_it_is_taken_back_the_site_is_that_of_a_full_build(
    served: Served, tmp_path: Path, edit: str
) -> None:
    name, old, new = EDITS[edit]
    served.replace(name, old, new)
    same_as_a_full_build(served, served.look(), tmp_path / "there")
    served.replace(name, new, old)
    same_as_a_full_build(served, served.look(), tmp_path / "back")
    assert served.whole == (0 if edit in ALONE else 2)


def test_pages_come_and_go(served: Served, tmp_path: Path) -> None:
    served.put("docs/third.md", "# Third\n\n[first](first.md#there)\n")
    same_as_a_full_build(served, served.look(), tmp_path / "come")
    (served.docs / "third.md").unlink()
    same_as_a_full_build(served, served.look(), tmp_path / "gone")
    (served.docs / "first.md").unlink()
    same_as_a_full_build(served, served.look(), tmp_path / "missed")


@pytest.mark.parametrize("seed", range(3))
def test_after_any_edits_in_any_order_the_site_is_that_of_a_full_build(
    served: Served, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same edits in each run
    edits: dict[str, tuple[str, str, str]] = {}
    for turn in range(8):
        for _ in range(chance.choice([1, 1, 2])):
            edit = chance.choice(sorted(EDITS))
            name, old, new = edits.pop(edit) if edit in edits else EDITS[edit]
            if old in (served.site.root / name).read_text(encoding="utf-8"):
                served.replace(name, old, new)
                if (name, old, new) == EDITS[edit]:
                    edits[edit] = name, new, old
        heard = served.look()
        if turn % 2:
            same_as_a_full_build(served, heard, tmp_path / f"turn-{turn}")


def test_nothing_is_built_where_nothing_changed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Page, "render", None)
    served.put(".hidden", "nothing of the site")
    served.put("docs/.first.md.swp", "what an editor keeps beside a page")
    assert served.look() == []
    assert served.whole == 0


def test_only_the_edited_page_is_converted(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[str] = []
    render = Page.render
    monkeypatch.setattr(Page, "render", lambda page, *rest: (converted.append(page.file.src_uri), render(page, *rest)))
    served.replace("docs/news.md", "A sentence.", "Another one.")
    assert served.look() == []
    assert converted == ["news.md", "reader.md"]  # which counts the letters of others


def test_requested_pages_are_rebuilt_together(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages_built: list[str] = []
    build_page = rebuild._build  # noqa: SLF001 - the step that each page takes
    monkeypatch.setattr(
        rebuild, "_build", lambda page, *rest: (pages_built.append(page.file.src_uri), build_page(page, *rest))
    )
    served.rebuild.want(["second.md", "gone.md"])
    served.rebuild.want(["index.md", "second.md"])
    same_as_a_full_build(served, served.look(), tmp_path / "full")
    assert pages_built == ["index.md", "second.md"]
    assert served.look() == []
    assert len(pages_built) == 2


def test_a_page_that_is_edited_while_others_are_built_comes_first(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages_built: list[str] = []
    build_page = rebuild._build  # noqa: SLF001 - as above

    def note(page: Page, *rest: object) -> None:
        if not pages_built:
            served.replace("docs/index.md", "A sentence.", "Another one.")
            served.rebuild._wake()  # noqa: SLF001 - as MkDocs' watch does
        pages_built.append(page.file.src_uri)
        build_page(page, *rest)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(rebuild, "_build", note)
    served.rebuild.want(["second.md", "news.md"])
    served.look()
    same_as_a_full_build(served, served.look(), tmp_path / "full")
    assert pages_built == ["news.md", "index.md", "second.md", "reader.md"]


def test_a_server_of_a_strict_site_shows_a_failure_and_goes_on(served: Served) -> None:
    served.replace("docs/first.md", "6 * 7", "6 / 0")
    assert [line for line in served.look() if "ZeroDivisionError" in line] != []
    page = (served.folder / "first" / "index.html").read_text(encoding="utf-8")
    assert '<p class="failed">docs/first.md:' in page


def test_the_hook_takes_the_place_of_the_builder_while_a_site_is_served(served: Served) -> None:
    config = load_config(str(served.site.root / "mkdocs.yml"))
    for dirty in (True, False):
        served.server.builder = build
        served.server.watch(config.docs_dir)
        config.plugins.on_startup(command="serve", dirty=dirty)
        config.plugins.on_serve(served.server, config=config, builder=build)
        assert isinstance(served.server.builder, Rebuild) != dirty
    config.plugins.on_shutdown()
    gc.unfreeze()  # what it did to end at once


def test_edits_leave_no_converter_behind(served: Served) -> None:
    counts = []
    for number in range(4):
        served.replace("docs/second.md", "A sentence", f"A sentence, {number}")
        served.look()
        gc.collect()
        counts.append(sum(isinstance(thing, Markdown) for thing in gc.get_objects()))
    assert counts[1:] == counts[:1] * 3


@pytest.mark.parametrize("edit", [None, ("snippets/new.py", "")], ids=["one page", "the whole site"])
def test_a_page_that_came_from_the_store_is_not_shown_again_at_each_visit(
    served: Served, edit: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "start", lambda _: None)
    pending, arrivals = served.rebuild._pending, list[str]()  # noqa: SLF001 - what the workers of a server tell
    pending._hear("docs/second.md")  # noqa: SLF001 - as a worker does after it stored the page
    pending.tell(arrivals.extend)
    if edit:
        served.put(*edit)
    else:
        served.rebuild.want(["second.md"])
    served.look()
    pending.prefer("second.md")
    assert arrivals == []
