"""The playground's editor is made of pinned packages, and what is made is what is on record."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from maintaining import editor_bundle
from maintaining.editor_bundle import BUNDLE, LICENCES, PINNED, RECORD, BundleError, digest, is_made, make, read_record

if TYPE_CHECKING:
    from pathlib import Path

TOLD = tomllib.loads(RECORD.read_text(encoding="utf-8"))
LOCK = json.loads((PINNED / "package-lock.json").read_text(encoding="utf-8"))["packages"]


def test_each_package_is_pinned_by_its_content_and_none_says_where_it_comes_from() -> None:
    packages = {name: package for name, package in LOCK.items() if name}
    assert [name for name, package in packages.items() if not package["integrity"].startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_the_record_has_the_version_and_the_licence_of_each_package_as_the_lock_has_them() -> None:
    for package in TOLD["package"]:
        locked = LOCK[f"node_modules/{package['name']}"]
        assert (package["version"], package["licence"]) == (locked["version"], locked["license"])


def test_what_lies_there_is_what_is_on_record() -> None:
    if not BUNDLE.exists():
        pytest.skip("the playground's editor was not made: scripts/maintaining/editor-bundle makes it")
    assert is_made()
    licences = LICENCES.read_text(encoding="utf-8")
    assert [
        each["name"] for each in TOLD["package"] if each.get("bundled", True) and each["name"] not in licences
    ] == []


def test_what_comes_out_otherwise_is_refused_and_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(editor_bundle, "STATIC", tmp_path)
    monkeypatch.setattr(editor_bundle, "install", lambda: tmp_path)
    monkeypatch.setattr(editor_bundle, "bundle", lambda _: (b"other", []))
    assert digest(b"other") != read_record()[BUNDLE.name]
    with pytest.raises(BundleError, match=r"came out otherwise than codemirror\.toml says; it is not used"):
        make()
    assert list(tmp_path.iterdir()) == []
