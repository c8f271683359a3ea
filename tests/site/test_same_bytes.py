"""Two builds of the same files give the same bytes, wherever and whenever they run."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PARTS = ("docs", "snippets", "scripts")


def test_two_builds_of_the_site_give_the_same_bytes(tmp_path: Path) -> None:
    """In two folders, on one core and on two, with other hash seeds and in other time zones, nothing kept."""
    folders = [tmp_path / "a", tmp_path / "b" / "deeper"]
    settings = [{"PYTHONHASHSEED": "1", "TZ": "UTC"}, {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo"}]
    building = [_build(folder, cores, extra) for folder, cores, extra in zip(folders, (1, 2), settings, strict=True)]
    assert [process.wait() for process in building] == [0, 0]
    first, second = (_files(folder / "site") for folder in folders)
    assert {"index.html", "pipeline/index.html", "sitemap.xml.gz", "search/search_index.json"} <= first.keys()
    assert first.keys() == second.keys()
    assert [name for name in first if not filecmp.cmp(first[name], second[name], shallow=False)] == []
    assert [name for name, path in first.items() if str(tmp_path).encode() in path.read_bytes()] == []


def _build(folder: Path, cores: int, extra: dict[str, str]) -> subprocess.Popen[bytes]:
    """Copy what the site is made of, and start its build; a commit would give the date that is set here."""
    for part in PARTS:
        shutil.copytree(PROJECT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "mkdocs.yml", folder)
    path = os.pathsep.join(str(folder / part) for part in PARTS)
    fixed = {
        "PYTHONPATH": path,
        "XLA_INSPECT_CACHE": "off",
        "SOURCE_DATE_EPOCH": "1700000000",
        "NO_MKDOCS_2_WARNING": "1",
    }
    code = "import os, runpy, sys; sys.argv = ['mkdocs', 'build', '--strict', '--quiet']\n"
    if hasattr(os, "sched_setaffinity"):
        code += f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])\n"
    code += "runpy.run_module('mkdocs', run_name='__main__')"
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env={**os.environ, **fixed, **extra})


def _files(site: Path) -> dict[str, Path]:
    return {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*")) if path.is_file()}
