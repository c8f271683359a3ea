"""Publication of the explorer's data files, on file systems with and without links."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from mkdocs.exceptions import PluginError

from inside_xla import explorer_files
from livepage.read import project
from xla_inspect.report.explorer import BUNDLES, STYLE

NAME = "0123456789abcdef.json"
PAGE = f"<div data-captures='[{{&quot;src&quot;: &quot;{NAME}&quot;}}]'></div>"


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder of the explorer's staged data in a temporary project."""
    monkeypatch.setattr(project, "root", tmp_path)
    folder = tmp_path / explorer_files.STAGED
    folder.mkdir(parents=True)
    return folder


def refuse(self: Path, target: Path) -> None:
    del self, target
    message = "links do not cross devices"
    raise OSError(message)


@pytest.mark.parametrize("links", [True, False])
def test_the_data_that_a_page_names_is_published_and_published_again(
    staged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    (staged / NAME).write_text("{}", encoding="utf-8")
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    for _ in range(2):
        explorer_files.publish_explorer([PAGE], tmp_path / "site")
        published = tmp_path / "site" / "assets" / "explorer" / NAME
        assert published.read_text(encoding="utf-8") == "{}"
        assert published.samefile(staged / NAME) == links


def test_the_least_recently_used_data_is_evicted_unless_needed(
    staged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    for name, days in ((NAME, 9), ("aa.json", 3), ("bb.json", 2), ("cc.json", 1), ("dd.tmp", 1)):
        (staged / name).write_text("{}", encoding="utf-8")
        os.utime(staged / name, (now - days * 86400,) * 2)
    monkeypatch.setattr(explorer_files, "LIMIT", 4)
    explorer_files.publish_explorer([PAGE], tmp_path / "site")
    assert sorted(path.name for path in staged.iterdir()) == [NAME, "bb.json", "cc.json"]


@pytest.mark.usefixtures("staged")
def test_removed_data_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=rf"lacks {NAME}, which kept pages name; remove .cache/pages too"):
        explorer_files.publish_explorer([PAGE], tmp_path / "site")


def test_a_site_without_explorers_gets_none_of_their_files(tmp_path: Path) -> None:
    explorer_files.publish_explorer(["<p>No explorer.</p>"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_that_no_page_uses_is_removed_from_the_site(staged: Path, tmp_path: Path) -> None:
    """This is the case after an edit, if the folder of the site is not emptied."""
    other = NAME.replace("0", "a")
    for name in (NAME, other):
        (staged / name).write_text("{}", encoding="utf-8")
    folder = tmp_path / "site" / "assets" / "explorer"
    explorer_files.publish_explorer([PAGE, PAGE.replace(NAME, other)], tmp_path / "site")
    explorer_files.publish_explorer([PAGE], tmp_path / "site")
    assert [path.name for path in folder.glob("*.json")] == [NAME]
    explorer_files.publish_explorer(["<p>No explorer.</p>"], tmp_path / "site")
    assert not folder.exists()


def test_the_data_that_an_index_names_is_published_with_it(staged: Path, tmp_path: Path) -> None:
    index, details, codes = "00aa.json", "00bb.json", "00cc.json"
    captures = [{"src": NAME, "details": details}, {"src": NAME, "details": ""}]
    described = {"programs": [], "codes": codes, "captures": captures}
    (staged / index).write_text(json.dumps(described), encoding="utf-8")
    for name in (NAME, details, codes):
        (staged / name).write_text("{}", encoding="utf-8")
    explorer_files.publish_explorer([f'<div data-index="{index}"></div>'], tmp_path / "site")
    folder = tmp_path / "site" / "assets" / "explorer"
    assert {path.name for path in folder.glob("*.json")} == {index, details, codes, NAME}
    assert {path.name for path in folder.iterdir() if path.suffix != ".json"} == {*BUNDLES, STYLE}
