"""The page about the build: counts of checks and values, and the commit of the build."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from livepage.publish import build_info
from livepage.read import Kind, project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Site

PAGE = """
    ---
    description: "`= 1`"
    ---

    # Page { #page }

    `= 1 + 1` and ``= "a`b"``.

    ```python exec="on"
    print("`= no_value`")
    ```

    ```python check="Yes"
    assert print
    ```

    --8<-- "part.md"
    """


@pytest.fixture
def root(site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site whose page includes another file."""
    site.write({"docs/page.md": PAGE, "snippets/part.md": "Three is `= 3`.\n"})
    monkeypatch.setattr(project, "root", site.root)
    return site.root


@pytest.mark.usefixtures("root")
def test_the_counts_match_the_build(site: Site) -> None:
    [page] = [page for page in build_info.list_pages() if page.name == "page.md"]
    assert site.build() == []
    source, _ = site.last.sources["docs/page.md"]
    assert page.title == "Page"
    assert page.pieces == {kind.value: source.count(kind) for kind in Kind} == {"block": 1, "value": 3, "check": 1}


def test_pages_stand_in_the_order_of_the_navigation(root: Path) -> None:
    (root / "mkdocs.yml").write_text("nav:\n  - page.md\n  - Home: index.md\n", encoding="utf-8")
    (root / "docs" / "a.md").write_text("# A\n", encoding="utf-8")
    (root / "docs" / "lab.py").write_text("# %%\n", encoding="utf-8")
    assert [page.name for page in build_info.list_pages()] == ["page.md", "index.md", "a.md"]
    assert build_info.list_notebooks() == ["lab.py"]


def test_the_commit_is_named_with_its_date_and_whether_files_differ(root: Path) -> None:
    assert str(build_info.find_commit()) == "files outside of a git clone"
    date = "2023-11-14T22:13:20+00:00"
    somebody = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    for command in (["init", "--quiet"], ["add", "docs"], ["commit", "--quiet", "--message", "All"]):
        options = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *options, *command], cwd=root, env=somebody, check=True)
    commit = build_info.find_commit()
    assert str(commit) == f"{commit.name[:12]} of 2023-11-14 22:13 UTC"
    (root / "docs" / "index.md").write_text("# Changed\n", encoding="utf-8")
    assert str(build_info.find_commit()).endswith("UTC, with local changes")


def test_the_pins_are_those_of_the_project_by_what_they_are_for(root: Path) -> None:
    (root / "pyproject.toml").write_text(
        '[project]\ndependencies = ["a>=1"]\n[dependency-groups]\npackage = ["a==1.0"]\n'
        "docs = [\"b-c==2; python_version > '3'\"]\n"
        'dev = [{ include-group = "docs" }]\n',
        encoding="utf-8",
    )
    assert build_info.list_pins() == {"package": {"a": "1.0"}, "docs": {"b-c": "2"}, "dev": {}}


def test_a_page_that_asks_git_runs_again_after_a_commit_and_after_a_change(root: Path, site: Site) -> None:
    block = "from livepage.publish import build_info\nprint(build_info.find_commit())"
    # As in the project, git ignores the store of pages: otherwise each stored page would be a change.
    site.write({"docs/page.md": f'# Page\n\n```python exec="on"\n{block}\n```\n', ".gitignore": ".cache/\n"})
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run([*git, "init", "--quiet"], cwd=root, check=True)
    for message in ("One", "Two"):
        subprocess.run([*git, "add", "."], cwd=root, check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", message], cwd=root, check=True)
        name = subprocess.run([*git, "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout
        texts = [site.render("page")[0] for _ in range(2)]
        assert [(name[:12] in text, "with local changes" in text) for text in texts] == [(True, False)] * 2
    (root / "docs/index.md").write_text("# Changed\n", encoding="utf-8")
    assert "with local changes" in site.render("page")[0]
