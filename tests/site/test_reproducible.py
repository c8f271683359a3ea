"""The whole site, built from nothing in two folders: the same bytes, and nothing of the machine in them."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PREFIX = """
import os, runpy, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])
sys.argv = ["mkdocs", "build", "--strict", "--quiet"]
runpy.run_module("mkdocs", run_name="__main__")
"""


@pytest.fixture(scope="module")
def builds(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two copies of the project's files, each with its site: one core and two, other hash seeds, nothing cached."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    folders = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second") / "deeper"
    running = []
    for cores, folder in enumerate(folders, 1):
        for name in listed:
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / name, folder / name)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(folder / "snippets"), str(folder / "scripts")]),
            "PYTHONHASHSEED": str(cores),
            "XLA_INSPECT_CACHE": str(folder / "cache"),
            "SOURCE_DATE_EPOCH": "1700000000",
            "TZ": "UTC" if cores == 1 else "Asia/Tokyo",
        }
        command = [sys.executable, "-c", PREFIX.format(cores=cores)]
        running.append(subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True))
    for build in running:
        _, said = build.communicate()
        assert (build.returncode, said) == (0, said), said
    return folders[0] / "site", folders[1] / "site"


def test_two_builds_are_the_same_byte_for_byte(builds: tuple[Path, Path]) -> None:
    first, second = ({path.relative_to(site) for path in site.rglob("*") if path.is_file()} for site in builds)
    assert first == second
    assert Path("pipeline/index.html") in first
    assert [name for name in first if not filecmp.cmp(builds[0] / name, builds[1] / name, shallow=False)] == []


def test_the_site_holds_no_path_of_the_machine_that_built_it(builds: tuple[Path, Path], root: Path) -> None:
    folder = builds[0].parent
    paths = [str(folder).encode(), str(root).encode(), str(Path.home()).encode() + b"/", str(sys.prefix).encode()]
    files = [path for path in builds[0].rglob("*") if path.is_file()]
    assert [(path.name, found) for path in files for found in paths if found in path.read_bytes()] == []


@pytest.mark.usefixtures("all_targets")
def test_the_compilers_text_is_on_the_pages_and_not_in_their_source(builds: tuple[Path, Path], root: Path) -> None:
    marks = ["is_tma_allowed", "cross_program_prefetch_index"]
    built = (builds[0] / "pipeline" / "index.html").read_text(encoding="utf-8")
    written = "".join(path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md"))
    assert [(mark, mark in built, mark in written) for mark in marks] == [(mark, True, False) for mark in marks]
