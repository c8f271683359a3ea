"""The bundles that browsers load: pinned packages, and files that match the record."""

from __future__ import annotations

import json
import sys
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from maintaining import browser_bundle, browser_bundles
from maintaining.browser_bundle import BrowserBundle, Built, digest
from maintaining.browser_bundles import BUNDLES
from maintaining.npm_packages import BundleError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=BUNDLES.values(), ids=BUNDLES)
def bundle(request: pytest.FixtureRequest) -> BrowserBundle:
    """Each of the browser bundles in turn."""
    bundle_builder: BrowserBundle = request.param
    return bundle_builder


def read_lock(bundle: BrowserBundle) -> dict[str, dict[str, str]]:
    packages = json.loads((bundle.pinned / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {name: package for name, package in packages.items() if name}


def test_each_package_is_pinned_by_its_content_and_none_says_where_it_comes_from(bundle: BrowserBundle) -> None:
    packages = read_lock(bundle)
    assert [name for name, package in packages.items() if not package["integrity"].startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_the_record_has_the_version_and_the_licence_of_each_package_as_the_lock_has_them(bundle: BrowserBundle) -> None:
    locked = read_lock(bundle)
    for package in tomllib.loads(bundle.record.read_text(encoding="utf-8"))["package"]:
        pinned = locked[f"node_modules/{package['name']}"]
        assert (package["version"], package["licence"]) == (pinned["version"], pinned["license"])
        assert bundle.read_version(package["name"]) == package["version"]


def test_each_file_is_on_record_and_none_is_tracked(bundle: BrowserBundle, root: Path) -> None:
    ignored = {line for line in (root / ".gitignore").read_text(encoding="utf-8").splitlines() if line}
    assert [*bundle.read_record()] == [*bundle.files]
    if bundle.is_made():
        assert bundle.read_size() == sum(path.stat().st_size for path in bundle.paths)
    addresses = {f"/{path.relative_to(root).as_posix()}" for path in bundle.paths}
    assert {name for name in addresses if not name.startswith("/.cache/")} <= ignored


def test_the_files_match_the_record(bundle: BrowserBundle) -> None:
    if not bundle.paths[0].exists():
        pytest.skip(f"{bundle.title} was not made: scripts/maintaining/browser-bundles makes it")
    assert bundle.is_made()


def test_the_licenses_of_the_editor_are_next_to_it() -> None:
    editor = BUNDLES["editor"]
    if not editor.paths[1].exists():
        pytest.skip("the playground's editor was not made: scripts/maintaining/browser-bundles makes it")
    packages = tomllib.loads(editor.record.read_text(encoding="utf-8"))["package"]
    licences = editor.paths[1].read_text(encoding="utf-8")
    assert [
        package["name"] for package in packages if package.get("bundled", True) and package["name"] not in licences
    ] == []


def test_a_different_build_result_is_rejected_and_not_written(
    bundle: BrowserBundle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(browser_bundle, "install_packages", lambda *_: tmp_path)
    name = bundle.files[0]
    other = replace(bundle, place=tmp_path / "out", build=lambda _: Built({name: b"other"}, []))
    assert digest(b"other") != other.read_record()[name]
    with pytest.raises(BundleError, match=rf"{name} came out otherwise than {bundle.record.name} says; it is not used"):
        other.make()
    assert not other.is_made()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("options", "status"), [([], 1), (["--if-possible"], 0)])
def test_a_failing_bundle_is_reported_and_the_others_are_built(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    status: int,
) -> None:
    def fail(_: Path) -> Built:
        reason = "there is no registry"
        raise BundleError(reason)

    monkeypatch.setattr(browser_bundle, "install_packages", lambda *_: tmp_path)
    monkeypatch.setattr(browser_bundle, "ROOT", tmp_path)
    pyodide = BUNDLES["pyodide"]
    record = tmp_path / "made.toml"
    record.write_text(f'[sha256]\na = "{digest(b"a")}"\n', encoding="utf-8")
    fine = replace(pyodide, place=tmp_path / "out", record=record, files=("a",), build=lambda _: Built({"a": b"a"}, []))
    broken = replace(BUNDLES["editor"], place=tmp_path / "none", build=fail)
    monkeypatch.setattr(browser_bundles, "BUNDLES", {"editor": broken, "pyodide": fine})
    monkeypatch.setattr(sys, "argv", ["browser_bundles", *options])
    assert browser_bundles.main() == status
    error_text = capsys.readouterr().err
    assert f"{broken.title} cannot be made: there is no registry. {broken.without}" in error_text
    assert fine.is_made()
