"""A copy of a project holds what that does but for what is edited, and what is done to it never reaches that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from livepage.edits.project_copy import PLACE, ProjectCopy, remove_left


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "docs/index.md",
        "snippets/edited.py",
        ".cache/captures/one.gz",
        ".cache/pages/kept.json",
        ".git/HEAD",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (tmp_path / "docs" / "link").symlink_to(tmp_path / "snippets")
    return tmp_path.resolve()


def test_a_copy_holds_the_files_and_their_dates_and_the_caches_and_no_repository(root: Path) -> None:
    copy = ProjectCopy(root, {"CAPTURES": root / ".cache" / "captures"})
    for name in ("docs/index.md", "snippets/edited.py"):
        assert (copy.root / name).read_text() == name
        assert (copy.root / name).stat().st_mtime_ns == (root / name).stat().st_mtime_ns
        assert not (copy.root / name).samefile(root / name)
    assert (copy.root / "docs" / "link").is_symlink()
    assert (Path(copy.variables["CAPTURES"]) / "one.gz").read_text() == ".cache/captures/one.gz"
    assert (copy.root / ".cache" / "pages" / "kept.json").is_file()
    assert not (copy.root / ".git").exists()
    copy.remove()
    assert [*(root / PLACE).iterdir()] == []


def test_an_edit_stays_in_the_copy_and_what_changes_in_the_project_comes_to_it(root: Path) -> None:
    copy = ProjectCopy(root, {})
    copy.put("snippets/edited.py", "edited")
    (root / "docs" / "index.md").write_text("changed", encoding="utf-8")
    (root / "docs" / "fresh.md").write_text("fresh", encoding="utf-8")
    copy.refresh()
    assert (copy.root / "snippets" / "edited.py").read_text() == "edited"
    assert (root / "snippets" / "edited.py").read_text() == "snippets/edited.py"
    assert (copy.root / "docs" / "index.md").read_text() == "changed"
    (root / "docs" / "fresh.md").unlink()
    copy.put("docs/index.md", "other")
    assert not (copy.root / "docs" / "fresh.md").exists()
    assert (copy.root / "snippets" / "edited.py").read_text() == "snippets/edited.py"


def test_the_copies_of_a_process_that_is_gone_are_removed(root: Path) -> None:
    own = ProjectCopy(root, {})
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    left = root / PLACE / f"{child}-left"
    left.mkdir()
    remove_left(root)
    assert not left.exists()
    assert own.root.is_dir()
