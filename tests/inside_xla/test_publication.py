"""The maintainer's decision on published bundles applies to every build of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inside_xla import publication
from livepage.keep import Watch
from livepage.read import project

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_bundles_are_not_published_unless_a_maintainer_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert publication.may_show_bundles() is False
    settings = publication.SETTINGS.read_text(encoding="utf-8")
    other = tmp_path / "publication.toml"
    other.write_text(settings.replace("tpu_bundles = false", "tpu_bundles = true"), encoding="utf-8")
    monkeypatch.setattr(publication, "SETTINGS", other)
    assert publication.may_show_bundles() is True


def test_a_page_that_reads_the_setting_runs_again_if_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "root", publication.SETTINGS.parents[2])
    with Watch() as watch:
        publication.may_show_bundles()
    assert "file scripts/inside_xla/publication.toml" in watch.facts
