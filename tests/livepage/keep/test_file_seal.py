"""What is kept of the theme's templates is taken for what it is, or made again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from livepage.keep import file_seal
from livepage.read import project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Site

DAMAGE = {
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "garbage": lambda _: bytes(range(256)),
    "changed": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


def test_a_file_is_read_under_its_own_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "root", tmp_path)
    file_seal.write(tmp_path / "a" / "one", b"1\n2")
    file_seal.write(tmp_path / "a" / "two", b"")
    assert [file_seal.read(tmp_path / "a" / name) for name in ("one", "two", "three")] == [b"1\n2", b"", None]
    shutil.copy(tmp_path / "a" / "one", tmp_path / "a" / "two")
    assert file_seal.read(tmp_path / "a" / "two") is None
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["one"]


@pytest.mark.parametrize("trouble", [*DAMAGE, "swapped"])
def test_a_template_that_is_not_what_was_kept_is_compiled_again_and_said(site: Site, trouble: str) -> None:
    site.write({"docs/a.md": "# A\n\nText.\n"})
    assert site.build() == []
    kept = sorted((site.root / ".cache" / "templates").iterdir())
    right = [path.read_bytes() for path in kept]
    wrong = [DAMAGE[trouble](data) for data in right] if trouble in DAMAGE else right[::-1]
    for path, data in zip(kept, wrong, strict=True):
        path.write_bytes(data)
    page = site.html("a")
    assert site.build() == []
    assert site.html("a") == page
    assert [path.read_bytes() for path in kept] == right
    said = [f".cache/templates/{path.name} is damaged or another's: it is made again" for path in kept]
    assert sorted(line for line in site.log if "damaged" in line) == said
