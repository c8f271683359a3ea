"""The archive of Python code for the browser: complete, reproducible, and independent of packages."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from inside_xla import reader_archive
from inside_xla.reader_archive import list_files, pack

if TYPE_CHECKING:
    from pathlib import Path

READ = """
import sys
sys.path.insert(0, sys.argv[1])
import inside_xla.dump_reader
tops = {name.partition(".")[0] for name in sys.modules} - {"__main__"}
print(*(name for name in tops if name not in sys.stdlib_module_names))
"""


@pytest.fixture(scope="module")
def archive() -> bytes:
    """The archive, as the build packs it."""
    return pack()


def test_the_archive_is_the_same_whenever_it_is_made(archive: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    for path in list_files().values():
        os.utime(path)
        break
    assert pack() == archive


def test_the_archive_contains_project_files_under_their_names(archive: bytes, root: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        names = packed.namelist()
        assert names == [*list_files()]
        assert {name.partition("/")[0] for name in names} == {"inside_xla", "xla_inspect"}
        for name in names:
            top = root / ("scripts" if name.startswith("inside_xla/") else "snippets")
            assert packed.read(name) == (top / name).read_bytes()


def test_the_archive_contains_no_package_unavailable_in_browsers() -> None:
    rooms = {name.split("/")[1] for name in list_files() if name.startswith("xla_inspect/") and name.count("/") > 1}
    allowed = {name.rpartition(".")[2] for name in reader_archive.read_rooms()}
    assert rooms <= allowed | {"targets"}
    assert {"analysis", "answers", "dumps", "hlo", "report"} <= rooms


def test_the_archive_runs_with_the_standard_library_alone(archive: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(tmp_path)
    command = [sys.executable, "-I", "-S", "-c", READ, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert sorted(ran.stdout.split()) == ["inside_xla", "xla_inspect"]
