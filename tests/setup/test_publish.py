"""Versions of the site lie side by side, a failing page is never one of them, and the package is what its tag says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIKE = Path(sys.executable).with_name("mike")
CONFIG = f"""\
INHERIT: {ROOT / "mkdocs.yml"}
hooks: [{ROOT / "scripts/livepage/mkdocs_hook.py"}]
watch: []
theme: {{custom_dir: {ROOT / "docs/overrides"}}}
nav:
  - Home: index.md
"""
GOOD = "---\ndescription: A page.\n---\n\n# Home\n\nTwo is `= 1 + 1`.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A git clone that holds a site of one page, with the project's own configuration."""
    (tmp_path / "snippets").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(GOOD, encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "docs"], ["commit", "--quiet", "--message", "Begin"]):
        git(tmp_path, *command)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    """Run git as somebody, and return what it prints."""
    named = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    return subprocess.run(
        ["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()  # fmt: skip


def deploy(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Deploy a version as scripts/publish does."""
    environment = os.environ | {
        "SITE_URL": "https://example.org/xla/",
        "SITE_VERSIONS": "1",
        "NO_MKDOCS_2_WARNING": "1",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "a",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "a@localhost",
        "PATH": os.pathsep.join([str(MIKE.parent), os.environ["PATH"]]),
    }
    command = [MIKE, "deploy", "--branch", "gh-pages", "--update-aliases", "--alias-type", "copy", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def test_a_version_and_its_alias_are_built_and_the_header_offers_the_others(folder: Path) -> None:
    done = deploy(folder, "0.1", "stable")
    assert done.returncode == 0, done.stderr
    names = git(folder, "ls-tree", "--name-only", "gh-pages").split()
    assert {"0.1", "stable", "versions.json"} <= set(names)
    versions = json.loads(git(folder, "show", "gh-pages:versions.json"))
    assert [(each["version"], each["aliases"]) for each in versions] == [("0.1", ["stable"])]
    page = git(folder, "show", "gh-pages:0.1/index.html")
    assert '<span class="value">2</span>' in page
    assert '"provider": "mike"' in page
    assert '<link rel="canonical" href="https://example.org/xla/0.1/">' in page
    assert "https://example.org/xla/0.1/" in git(folder, "show", "gh-pages:0.1/sitemap.xml")


def test_a_version_with_a_failing_page_is_not_kept(folder: Path) -> None:
    (folder / "docs" / "index.md").write_text(GOOD.replace("1 + 1", "1 / 0"), encoding="utf-8")
    done = deploy(folder, "0.1")
    assert done.returncode != 0
    assert "docs/index.md:7: ZeroDivisionError" in done.stderr
    assert git(folder, "branch", "--list", "gh-pages") == ""


def run(folder: Path, script: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one of the project's scripts, copied into a folder."""
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    environment = {name: value for name, value in os.environ.items() if name != "SITE_URL"} | variables
    command = ["bash", f"scripts/{script}", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def test_publishing_without_the_sites_address_says_what_to_set(tmp_path: Path) -> None:
    done = run(tmp_path, "publish", "build", "0.1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "publish: SITE_URL is ''. "
        "Set it to the address that all versions are under, such as https://host/path/.\n"
    )  # fmt: skip


def test_a_tag_of_another_version_builds_no_package(tmp_path: Path) -> None:
    done = run(tmp_path, "package", "build", "v99.0.0")
    assert done.returncode == 1
    assert "the tag is v99.0.0 and the version in pyproject.toml is 0.1.0: the tag of that version is v0.1.0" in (
        done.stderr
    )
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("publish", ["push"]),
        ("package", ["build", "a", "b"]),
        ("newest", ["try"]),
        ("comment", ["post"]),
        ("green", []),
    ],
)
def test_wrong_arguments_are_refused_with_a_way_to_the_right_ones(
    script: str, words: list[str], tmp_path: Path
) -> None:
    done = run(tmp_path, script, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{script}: ")
