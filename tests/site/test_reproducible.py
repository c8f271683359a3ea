"""The whole site, built from nothing in two clones of one commit: the same bytes, and nothing of the machine in it."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

AWKWARD = "ein Ordner - \u00fc & 'q' \"z\""
COMMITTED = "2023-11-14T22:13:20+00:00"
PREFIX = """
import os, runpy, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])
sys.argv = ["mkdocs", "build", "--strict", "--quiet"]
runpy.run_module("mkdocs", run_name="__main__")
"""


@pytest.fixture(scope="module")
def builds(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two clones of the project's files, each with its site: one core and two, other hash seeds, nothing cached.

    The second lies in a folder whose name is hard to quote, in another time zone and locale.
    """
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    folders = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second") / AWKWARD
    running = []
    for cores, folder in enumerate(folders, 1):
        for name in listed:
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / name, folder / name)
        _commit(folder)
        environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | {
            "PYTHONPATH": os.pathsep.join([str(folder / "snippets"), str(folder / "scripts")]),
            "PYTHONHASHSEED": str(cores),
            "XLA_INSPECT_CACHE": str(folder / "cache"),
            "TZ": "UTC" if cores == 1 else "Asia/Tokyo",
            "LC_ALL": "C.UTF-8" if cores == 1 else "de_DE.UTF-8",
        }
        command = [sys.executable, "-c", PREFIX.format(cores=cores)]
        running.append(subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True))
    for build in running:
        _, said = build.communicate()
        assert (build.returncode, said) == (0, said), said
    return folders[0] / "site", folders[1] / "site"


def _commit(folder: Path) -> None:
    """Make a clone's only commit, by the same hand at the same time in each."""
    somebody = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "a"), ("EMAIL", "a@localhost"), ("DATE", COMMITTED))
    }
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "All of it"]):
        subprocess.run(["git", *command], cwd=folder, env=os.environ | somebody, check=True)


def test_two_builds_are_the_same_byte_for_byte(builds: tuple[Path, Path]) -> None:
    first, second = ({path.relative_to(site) for path in site.rglob("*") if path.is_file()} for site in builds)
    assert first == second
    made = {"pipeline/index.html", "pipeline/index.md", "sitemap.xml", "llms.txt", "search/search_index.json"}
    assert {Path(name) for name in made} <= first
    assert [name for name in first if not filecmp.cmp(builds[0] / name, builds[1] / name, shallow=False)] == []


def test_dates_and_names_are_those_of_the_commit(builds: tuple[Path, Path]) -> None:
    name = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=builds[0].parent, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert f"{name} of 2023-11-14 22:13 UTC" in (builds[0] / "build" / "index.md").read_text(encoding="utf-8")
    dates = set(re.findall(r"<lastmod>(.*?)</lastmod>", (builds[0] / "sitemap.xml").read_text(encoding="utf-8")))
    assert dates == {"2023-11-14"}


def test_the_site_holds_no_path_of_the_machine_that_built_it(builds: tuple[Path, Path], root: Path) -> None:
    folders = [str(build.parent).encode() for build in builds]
    paths = [*folders, str(root).encode(), str(Path.home()).encode() + b"/", str(sys.prefix).encode()]
    files = [path for build in builds for path in build.rglob("*") if path.is_file()]
    assert [(path.name, found) for path in files for found in paths if found in path.read_bytes()] == []


@pytest.mark.usefixtures("all_targets")
def test_the_compilers_text_is_on_the_pages_and_not_in_their_source(builds: tuple[Path, Path], root: Path) -> None:
    marks = ["is_tma_allowed", "cross_program_prefetch_index"]
    built = (builds[0] / "pipeline" / "index.html").read_text(encoding="utf-8")
    written = "".join(path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md"))
    assert [(mark, mark in built, mark in written) for mark in marks] == [(mark, True, False) for mark in marks]
