"""The newest JAX is found, pinned and reported with the sentences that it makes false."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ci import newest
from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("maintainers and continuous integration alone run this")

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
FAILED = """\
=================================== FAILURES ===================================
____________________ test_the_checks_of_a_page_pass[fusion.md] ____________________
docs/fusion.md:42: AssertionError: left was 3, right was 4
docs/practice/hlo.py:7: KeyError: 'a | b'
=========================== short test summary info ============================
FAILED tests/site/test_pages.py::test_the_checks_of_a_page_pass[fusion.md]
"""


def test_the_packages_that_move_together_are_pinned() -> None:
    assert set(newest.read_pins(PROJECT)) == set(newest.MOVED)


def test_moving_the_pins_moves_them_all_and_nothing_else() -> None:
    moved = newest.move(PROJECT, dict.fromkeys(newest.MOVED, "99.1"))
    assert newest.read_pins(moved) == dict.fromkeys(newest.MOVED, "99.1")
    same = [new for old, new in zip(PROJECT.splitlines(), moved.splitlines(), strict=True) if old == new]
    assert len(PROJECT.splitlines()) - len(same) == len(moved.splitlines()) - len(same)
    assert newest.move(moved, newest.read_pins(PROJECT)).count("==99.1") == 0


@pytest.mark.usefixtures("all_targets")
def test_the_registry_answers_with_one_version_of_each() -> None:
    pins = newest.read_pins(PROJECT)
    versions = newest.resolve(pins)
    assert set(versions) == set(newest.MOVED)
    assert versions["jax"] == versions["jaxlib"] == versions["jax-cuda13-plugin"]
    assert [name for name in newest.MOVED if to_numbers(versions[name]) < to_numbers(pins[name])] == []


def copy_scripts(folder: Path) -> None:
    """Copy the scripts into a folder that stands for a clone."""
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))


def to_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_newest_pins_need_no_change(tmp_path: Path) -> None:
    """Run as the workflow runs it, in a copy whose pins are what the registry answers with."""
    copy_scripts(tmp_path)
    text = newest.move(PROJECT, newest.resolve(newest.read_pins(PROJECT)))
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / ".python-version", tmp_path)
    command = ["bash", "scripts/ci/newest", "try", "found"]
    result = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("every pinned compiler is its newest release already\n")
    assert not (tmp_path / "found").exists()
    assert (tmp_path / "pyproject.toml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("older", "moved"),
    [
        ({"jax": "0.12.0", "jaxlib": "0.12.0"}, ["jax", "jaxlib"]),
        ({"libtpu": "0.0.51"}, ["libtpu"]),
        ({"nvidia-cuda-nvcc": "13.0.48"}, ["nvidia-cuda-nvcc"]),
    ],
)
def test_each_compiler_is_moved_by_itself_and_both_versions_are_named(
    older: dict[str, str], moved: list[str], tmp_path: Path
) -> None:
    copy_scripts(tmp_path)
    shutil.copy(ROOT / ".python-version", tmp_path)
    newer = newest.resolve(newest.read_pins(PROJECT))
    (tmp_path / "pyproject.toml").write_text(newest.move(PROJECT, {**newer, **older}), encoding="utf-8")
    command = [sys.executable, "-m", "ci.newest", "pins"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "scripts")}
    result = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    now = newest.read_pins((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    assert now == newer
    assert result.stdout.splitlines() == [f"{name} {older[name]} {newer[name]}" for name in moved]


def test_the_report_says_which_sentences_became_false(tmp_path: Path) -> None:
    (tmp_path / "pages.log").write_text(FAILED, encoding="utf-8")
    (tmp_path / "drift.md").write_text("One *pass* is new.\n" * 9000, encoding="utf-8")
    (tmp_path / "drift.log").write_text("~~~\n" + "a line\n" * 100, encoding="utf-8")
    (tmp_path / "moved.txt").write_text("jax 1.0 2.0\nlibtpu 0.1 0.2\n", encoding="utf-8")
    text = newest.report(tmp_path)
    assert "* jax 1.0 is pinned, and 2.0 is the newest release.\n* libtpu 0.1 is pinned, and 0.2" in text
    assert "## Sentences that became false: 2" in text
    assert "| `docs/fusion.md:42` | `AssertionError: left was 3, right was 4` |" in text
    assert "| `docs/practice/hlo.py:7` | `KeyError: 'a \\| b'` |" in text
    assert "## What the compiler does differently\n\nOne *pass* is new.\n" in text
    assert len(text) < 65_536
    assert "~~~~text\n" in text or "~~~text\n" in text
    assert f"The last {newest.MOST_LINES} of 101 lines:" in text


def test_a_report_without_failures_says_that_none_was_found(tmp_path: Path) -> None:
    (tmp_path / "pages.log").write_text("all checks passed\n", encoding="utf-8")
    (tmp_path / "moved.txt").write_text("libtpu 0.1 0.2\n", encoding="utf-8")
    assert "None was found." in newest.report(tmp_path)


def propose(folder: Path, change: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Propose a change of files, in a repository of its own, as the workflow does."""

    def git(*words: str) -> str:
        git_command = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words]
        return subprocess.run(git_command, cwd=folder, check=True, capture_output=True, text=True).stdout

    copy_scripts(folder)
    for name in ("pyproject.toml", ".python-version"):
        shutil.copy(ROOT / name, folder)
    (folder / "tests" / "expected" / "layer").mkdir(parents=True)
    (folder / "tests" / "expected" / "layer" / "cpu.txt").write_text("kernels 2\n", encoding="utf-8")
    git("init", "--quiet", "--initial-branch=main")
    git("add", ".")
    git("commit", "--quiet", "--message", "Begin")
    git("init", "--quiet", "--bare", "origin")
    git("remote", "add", "origin", str(folder / "origin"))
    for name, text in change.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(text.removeprefix("->"))
        else:
            (folder / name).write_text(text, encoding="utf-8")
    git("add", "--", *change)
    (folder / "made").mkdir()
    (folder / "made" / "change.patch").write_text(git("diff", "--cached"), encoding="utf-8")
    (folder / "made" / "report.md").write_text("A report.\n", encoding="utf-8")
    git("reset", "--quiet", "--hard")
    (folder / "bin").mkdir()
    (folder / "bin" / "gh").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "bin" / "gh").chmod(0o755)
    return subprocess.run(
        ["bash", "scripts/ci/newest", "propose", "made", "jax-99.1"],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
    )


FINE = {
    "tests/expected/layer/cpu.txt": "kernels 3\n",
    "docs/data/drift/99.1.json": "{}\n",
    "pyproject.toml": newest.move(PROJECT, {"jax": "99.1"}).replace(
        "build-constraint-dependencies = [\n", 'build-constraint-dependencies = [\n  "a-new.one==1.0",\n'
    ),
}


def test_a_change_of_data_outputs_and_versions_is_proposed(tmp_path: Path) -> None:
    result = propose(tmp_path, FINE)
    assert (result.returncode, result.stderr) == (0, "")
    command = ["git", "-C", str(tmp_path / "origin"), "log", "--format=%s", "--name-only", "newest-jax-99.1", "-1"]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    assert words[0] == "Move to jax 99.1"
    assert set(filter(None, words[1:])) == set(FINE)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("scripts/ci/newest.py", "raise SystemExit\n", "scripts/ci/newest.py"),
        (".github/workflows/main.yml", "on: push\n", ".github/workflows/main.yml"),
        ("docs/index.md", "# Another home\n", "docs/index.md"),
        ("tests/expected/layer/cpu.py", "import os\n", "tests/expected/layer/cpu.py"),
        ("tests/expected/layer/cpu.txt", "->../../../scripts/ci/newest", "tests/expected/layer/cpu.txt"),
        ("pyproject.toml", PROJECT.replace('  "mypy==', '  "another==1.0",\n  "mypy=='), "more than the versions"),
        ("pyproject.toml", PROJECT.replace("strict = true", "strict = false"), "more than the versions"),
        ("pyproject.toml", PROJECT.replace("hatchling==", "another=="), "more than the versions"),
    ],
)
def test_a_change_of_anything_else_is_not_proposed(tmp_path: Path, name: str, text: str, message: str) -> None:
    result = propose(tmp_path, {**FINE, name: text})
    assert result.returncode == 1
    assert "newest: change.patch changes what it may not; nothing is pushed: " in result.stderr
    assert message in result.stderr
    heads = subprocess.run(
        ["git", "-C", str(tmp_path / "origin"), "branch"], check=True, capture_output=True, text=True
    )
    assert heads.stdout == ""
