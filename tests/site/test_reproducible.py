"""The whole site, and the same built from nothing in a clone: the same bytes, and nothing of the machine in them."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

AWKWARD = "ein Ordner - \u00fc & 'q' \"z\""
ON_ONE_CORE = """
import os, runpy, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
sys.argv = ["mkdocs", "build", "--strict", "--quiet"]
runpy.run_module("mkdocs", run_name="__main__")
"""


def ask_git(folder: Path, *words: str) -> list[str]:
    """Return the lines that git says of a folder."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def clone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a clone: nothing cached, one core, other hash seed, time zone and locale, a folder hard to quote."""
    folder = tmp_path_factory.mktemp("clone") / AWKWARD
    ask_git(root, "clone", "--quiet", "--no-hardlinks", str(root), str(folder))
    # With what was not committed yet, as the build of the project had it.
    for name in ask_git(root, "ls-files", "--modified", "--deleted", "--others", "--exclude-standard"):
        (folder / name).unlink(missing_ok=True)
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | {
        "PYTHONPATH": os.pathsep.join([str(folder / "snippets"), str(folder / "scripts")]),
        "PYTHONHASHSEED": "1",
        "XLA_INSPECT_CACHE": str(folder / "cache"),
        "TZ": "Asia/Tokyo",
        "LC_ALL": "de_DE.UTF-8",
    }
    build = subprocess.run(
        [sys.executable, "-c", ON_ONE_CORE], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    assert build.returncode == 0, build.stderr
    return folder / "site"


def test_two_builds_are_the_same_byte_for_byte(built_site: Path, clone: Path) -> None:
    first, second = ({path.relative_to(s) for path in s.rglob("*") if path.is_file()} for s in (built_site, clone))
    assert first == second
    made = {"pipeline/index.html", "pipeline/index.md", "sitemap.xml", "llms.txt", "search/search_index.json"}
    assert {Path(name) for name in made} <= first
    assert [name for name in first if not filecmp.cmp(built_site / name, clone / name, shallow=False)] == []


def test_dates_and_names_are_those_of_the_commit(built_site: Path, root: Path) -> None:
    """Where TZ is another than UTC, git's own dates are too."""
    [name, seconds] = ask_git(root, "log", "-1", "--format=%h %ct", "--abbrev=12")[0].split()
    made = datetime.fromtimestamp(int(seconds), UTC)
    assert f"{name} of {made:%Y-%m-%d %H:%M} UTC" in (built_site / "build" / "index.md").read_text(encoding="utf-8")
    dates = set(re.findall(r"<lastmod>(.*?)</lastmod>", (built_site / "sitemap.xml").read_text(encoding="utf-8")))
    assert dates == {f"{made:%Y-%m-%d}"}


def test_the_site_holds_no_path_of_the_machine_that_built_it(built_site: Path, clone: Path, root: Path) -> None:
    folders = [str(clone.parent), str(root), f"{Path.home()}/", str(sys.prefix)]
    files = [path for site in (built_site, clone) for path in site.rglob("*") if path.is_file()]
    contents = ((path.name, path.read_bytes()) for path in files)
    assert [(name, found) for name, content in contents for found in folders if found.encode() in content] == []


@pytest.mark.usefixtures("all_targets")
def test_the_compilers_text_is_on_the_pages_and_not_in_their_source(built_site: Path, root: Path) -> None:
    marks = ["is_tma_allowed", "cross_program_prefetch_index"]
    built = (built_site / "pipeline" / "index.html").read_text(encoding="utf-8")
    written = "".join(path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md"))
    assert [(mark, mark in built, mark in written) for mark in marks] == [(mark, True, False) for mark in marks]
