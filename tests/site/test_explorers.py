"""What an explorer fetches lies in the site, whether the file system has links or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from livepage import explorers
from livepage.project import project

NAME = "0123456789abcdef.json"
PAGE = f"<div data-captures='[{{&quot;src&quot;: &quot;{NAME}&quot;}}]'></div>"


def refuse(self: Path, target: Path) -> None:
    del self, target
    message = "links do not cross devices"
    raise OSError(message)


@pytest.mark.parametrize("links", [True, False])
def test_the_data_that_a_page_names_is_published_and_published_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    staged = tmp_path / explorers.STAGED / NAME
    staged.parent.mkdir(parents=True)
    staged.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(project, "root", tmp_path)
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    for _ in range(2):
        explorers.publish([PAGE], tmp_path / "site")
        published = tmp_path / "site" / "assets" / "explorer" / NAME
        assert published.read_text(encoding="utf-8") == "{}"
        assert published.samefile(staged) == links


def test_a_site_without_explorers_gets_nothing_of_them(tmp_path: Path) -> None:
    explorers.publish(["<p>No explorer.</p>"], tmp_path)
    assert list(tmp_path.iterdir()) == []
