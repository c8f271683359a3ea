"""Publication of the files that the page for dumps fetches, or its note on missing ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from inside_xla import open_dump_files
from inside_xla.open_dump_files import MARK, MISSING, PARTS, publish_dump_page
from maintaining.browser_bundle import digest
from maintaining.pyodide_bundle import PYODIDE
from xla_inspect.report.explorer import BUNDLES

if TYPE_CHECKING:
    from pathlib import Path

PAGE = f"<div {MARK}></div>"


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Python for browsers, as small files listed in the record."""
    place, record = tmp_path / "python", tmp_path / "python.toml"
    place.mkdir()
    files = {name: name.encode() for name in PYODIDE.files}
    for name, content in files.items():
        (place / name).write_bytes(content)
    hashes = "".join(f'"{name}" = "{digest(content)}"\n' for name, content in files.items())
    record.write_text(f'[sha256]\n{hashes}\n[[package]]\nname = "pyodide"\nversion = "1.2.3"\n', encoding="utf-8")
    monkeypatch.setattr(open_dump_files, "PYODIDE", replace(PYODIDE, place=place, record=record))
    return place


def read_parts(site: Path) -> dict[str, object]:
    parts: dict[str, object] = json.loads((site / "assets" / "open-dump" / PARTS).read_text(encoding="utf-8"))
    return parts


def test_all_fetched_files_are_published_repeatedly(python: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    for _ in range(2):
        publish_dump_page([PAGE], site)
        parts = read_parts(site)
        assert parts["explorer"] == [*BUNDLES]
        assert parts["sizes"] == {name: len(name) for name in PYODIDE.files}
        assert (site / "assets" / "open-dump" / str(parts["reader"])).is_file()
        folder = site / "assets" / str(parts["python"])
        assert folder.name == "pyodide-1.2.3"
        assert all((folder / name).samefile(python / name) for name in PYODIDE.files)
        assert all((site / "assets" / "explorer" / name).is_file() for name in BUNDLES)
    assert len([*(site / "assets" / "open-dump").glob("reader-*.zip")]) == 1


def test_a_page_without_python_names_the_command_that_fetches_it(python: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_dump_page([PAGE], site)
    (python / PYODIDE.files[0]).write_bytes(b"damaged")
    publish_dump_page([PAGE], site)
    parts = read_parts(site)
    assert parts["missing"] == MISSING
    assert "scripts/maintaining/browser-bundles pyodide" in MISSING
    assert "python" not in parts
    assert [*(site / "assets").glob("pyodide*")] == []


def test_a_site_without_the_dump_page_has_none_of_its_files(tmp_path: Path) -> None:
    publish_dump_page(["<p>Another page</p>"], tmp_path / "site")
    assert not (tmp_path / "site").exists()
