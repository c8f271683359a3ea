"""The maintainer's decision on published bundles applies to every build of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inside_xla import publication
from livepage.keep import Watch
from livepage.read import project

if TYPE_CHECKING:
    from pathlib import Path


def test_bundles_are_not_published_unless_a_maintainer_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert publication.may_show_bundles() is False
    settings = publication.SETTINGS.read_text(encoding="utf-8")
    other = tmp_path / "publication.toml"
    other.write_text(settings.replace("tpu_bundles = false", "tpu_bundles = true"), encoding="utf-8")
    monkeypatch.setattr(publication, "SETTINGS", other)
    assert publication.may_show_bundles() is True


@pytest.mark.parametrize(
    ("repository", "commands", "address"),
    [
        ("", ["pip install ./inside-xla", "pip install './inside-xla[all]'"], "ADDRESS"),
        (
            "https://host/xla",
            [
                "pip install 'xla-inspect @ git+https://host/xla'",
                "pip install 'xla-inspect[all] @ git+https://host/xla'",
            ],
            "https://host/xla",
        ),
        (
            "https://host/xla",
            ["pip install xla-inspect", "pip install 'xla-inspect[all]'"],
            "https://host/xla",
        ),
    ],
    ids=["clone", "repository", "registry"],
)
def test_readers_install_from_a_clone_the_repository_or_the_registry(
    repository: str, commands: list[str], address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    published = "true" if commands[0].endswith(" xla-inspect") else "false"
    settings = f'published = {published}\nrepository = "{repository}"\n'
    (tmp_path / "publication.toml").write_text(settings, encoding="utf-8")
    monkeypatch.setattr(publication, "SETTINGS", tmp_path / "publication.toml")
    monkeypatch.delenv("REPO_URL", raising=False)
    assert [publication.format_install_command(), publication.format_install_command("all")] == commands
    assert bool(publication.explain_source()) == ("./inside-xla" in commands[0])
    assert publication.clone_command() == f"git clone {address} inside-xla"
    assert bool(publication.explain_address()) == (address == "ADDRESS")
    monkeypatch.setenv("REPO_URL", "https://other/xla")
    assert ("git+https://other/xla" in publication.format_install_command()) == (published == "false")
    assert publication.clone_command() == "git clone https://other/xla inside-xla"
    assert publication.explain_address() == ""


def test_a_page_that_reads_the_setting_runs_again_if_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "root", publication.SETTINGS.parents[2])
    with Watch() as watch:
        publication.may_show_bundles()
    assert "file scripts/inside_xla/publication.toml" in watch.facts
