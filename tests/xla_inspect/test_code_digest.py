"""The stored hash of the package's own code."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from xla_inspect import closure, code_digest
from xla_inspect.code_digest import hash_dependencies


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two modules and a data file, changed long ago, with an empty cache folder."""
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(code_digest, "SETTLED", 0.0)
    folder = tmp_path / "xla_inspect"
    folder.mkdir()
    (folder / "start.py").write_text('from xla_inspect.other import SIZE\nread("data.txt")\n', encoding="utf-8")
    (folder / "other.py").write_text("SIZE = 1\n", encoding="utf-8")
    (folder / "data.txt").write_text("1\n", encoding="utf-8")
    return folder


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of modules that each computation of a hash parses."""
    numbers: list[int] = []
    original = closure.hash_meaning

    def count(files: frozenset[Path], root: Path) -> str:
        numbers.append(len(files))
        return original(files, root)

    monkeypatch.setattr(closure, "hash_meaning", count)
    return numbers


def digest(package: Path) -> str:
    return hash_dependencies([package / "start.py"], package)


def test_an_unchanged_package_is_parsed_once(package: Path, parses: list[int]) -> None:
    assert digest(package) == digest(package)
    assert parses == [3]


@pytest.mark.parametrize(("name", "text"), [("other.py", "SIZE = 2\n"), ("data.txt", "2\n")])
def test_a_change_that_keeps_size_and_date_changes_the_hash(package: Path, name: str, text: str) -> None:
    file, before = package / name, digest(package)
    times = file.stat()
    # The clock of the file system must advance, since the time of the last change distinguishes the two contents.
    time.sleep(0.05)
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest(package) != before


def test_a_new_module_that_an_import_finds_first_changes_the_hash(package: Path) -> None:
    before = digest(package)
    (package / "other").mkdir()
    (package / "other" / "__init__.py").write_text("SIZE = 3\n", encoding="utf-8")
    (package / "other.py").unlink()
    assert digest(package) != before


def test_a_comment_does_not_change_the_hash(package: Path, parses: list[int]) -> None:
    before = digest(package)
    (package / "other.py").write_text("SIZE = 1  # bytes\n", encoding="utf-8")
    assert (digest(package), parses) == (before, [3, 3])


def test_bytecode_files_do_not_count(package: Path, parses: list[int]) -> None:
    digest(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "start.pyc").write_bytes(b"1")
    digest(package)
    assert parses == [3]


@pytest.mark.parametrize("damage", ["", "garbage", "half"])
def test_a_damaged_file_is_written_again(package: Path, parses: list[int], damage: str) -> None:
    before = digest(package)
    (file,) = (package.parent / "cache").iterdir()
    whole = file.read_text(encoding="ascii")
    file.write_text(whole[: len(whole) // 2 + 20] if damage == "half" else damage, encoding="ascii")
    assert (digest(package), digest(package), parses) == (before, before, [3, 3])


def test_files_that_changed_a_moment_ago_are_parsed_every_time(
    package: Path, parses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second change within the resolution of the clock would leave no trace in the times."""
    monkeypatch.setattr(code_digest, "SETTLED", 60.0)
    assert digest(package) == digest(package)
    assert parses == [3, 3]


def test_a_copy_of_the_package_has_the_same_hash_and_its_own_entry(package: Path, parses: list[int]) -> None:
    copy = Path(shutil.copytree(package, package.parent / "copy" / "xla_inspect"))
    assert digest(package) == digest(copy) == digest(package)
    assert parses == [3, 3]


def test_without_a_cache_folder_the_modules_are_parsed(
    package: Path, parses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    assert digest(package) == digest(package)
    assert parses == [3, 3]
