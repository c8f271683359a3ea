"""Records are read only if their script is unchanged; an error names the script to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from peers import records

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = {
    "peer": "small",
    "given": "0123",
    "versions": {"python": "3.12", "small": "1.0"},
    "kernels": {"layer": ["product", "sum"]},
    "error_below": {"layer": 1e-5},
    "facts": {"bytes": 12},
    "texts": {"layer/before": ["first", '"second"']},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of compilers with a single small one, which imports one module and through it a package."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "run.py").write_text("from peers import shared\n", encoding="utf-8")
    (tmp_path / "small" / "notes.txt").write_text("a file that the script reads", encoding="utf-8")
    (tmp_path / "shared.py").write_text("from peers.files import read\n", encoding="utf-8")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "files" / "layer.mlir").write_text("module {}", encoding="utf-8")
    (tmp_path / "unrelated.py").write_text("", encoding="utf-8")
    content = {"script": records.hash_script(tmp_path / "small"), **CONTENT}
    (tmp_path / "small" / "record.json").write_text(records.render(content), encoding="utf-8")
    return tmp_path


def test_a_record_is_read_as_it_was_written(folder: Path) -> None:
    record = records.read("small", folder)
    assert record.kernels == {"layer": ("product", "sum")}
    assert record.texts == {"layer/before": 'first\n"second"'}
    assert record.versions["small"] == "1.0"
    assert record.facts == {"bytes": 12}


def test_a_text_takes_one_line_of_the_file_for_each_of_its_lines(folder: Path) -> None:
    lines = (folder / "small" / "record.json").read_text(encoding="utf-8").splitlines()
    assert '   "first",' in lines


def test_a_record_depends_on_its_folder_and_its_imports(folder: Path) -> None:
    names = {path.relative_to(folder).as_posix() for path in records.list_sources(folder / "small")}
    assert names == {"small/run.py", "small/notes.txt", "shared.py", "files/__init__.py", "files/layer.mlir"}


@pytest.mark.parametrize("name", ["small/run.py", "small/notes.txt", "shared.py", "files/layer.mlir"])
def test_a_change_in_any_of_these_makes_the_record_stale(folder: Path, name: str) -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    with pytest.raises(records.StaleRecordError) as raised:
        records.read("small", folder)
    assert str(raised.value) == (
        "snippets/peers/small/record.json was not written by snippets/peers/small/run.py as it stands: "
        "run `scripts/peers small --update` and look at what changed"
    )


def test_a_change_elsewhere_keeps_the_record_valid(folder: Path) -> None:
    (folder / "unrelated.py").write_text("changed = True\n", encoding="utf-8")
    assert records.read("small", folder).peer == "small"


def test_other_line_ends_keep_the_record_valid(folder: Path) -> None:
    (folder / "shared.py").write_bytes(b"from peers.files import read\r\n")
    assert records.read("small", folder).peer == "small"


@pytest.mark.parametrize(
    ("old", "new"), [('"small": "1.0"', '"small": "1.1"'), ('"first"', '"frist"'), (": 12", ": 13")]
)
def test_a_record_that_was_changed_by_hand_is_refused(folder: Path, old: str, new: str) -> None:
    path = folder / "small" / "record.json"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(records.StaleRecordError, match="changed by hand: run `scripts/peers small --update`"):
        records.read("small", folder)


def test_a_record_that_is_missing_is_named_with_what_writes_it(folder: Path) -> None:
    (folder / "small" / "record.json").unlink()
    with pytest.raises(records.StaleRecordError, match=r"does not exist: `scripts/peers small --update` writes it"):
        records.read("small", folder)


@pytest.mark.parametrize("peer", records.names())
def test_each_record_was_written_by_its_script_as_it_stands(peer: str) -> None:
    assert records.read(peer).peer == peer
