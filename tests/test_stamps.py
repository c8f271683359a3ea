"""Sealed files of measured data: their hashes and versions."""

from __future__ import annotations

import json
import logging
import re
import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import stamps
from common import ROOT
from inside_xla import site_hook
from xla_inspect.releases import read_releases

if TYPE_CHECKING:
    from pathlib import Path

FILES = stamps.list_sealed()
VERSIONS = {"jax": "1.0"}


def name(path: Path) -> str:
    return path.relative_to(stamps.DATA).as_posix()


def find_pin(package: str) -> str:
    pinned_version = re.search(rf'"{package}==([\d.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert pinned_version
    return pinned_version[1]


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    path = tmp_path / "times.json"
    stamps.write_sealed(path, "scripts/bench", VERSIONS, {"us": 63.4, "names": ["ä", "b"]})
    return path


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_file_is_as_its_script_wrote_it_and_names_a_script_that_exists(path: Path) -> None:
    content = stamps.read_sealed(path)
    command = re.sub(r"-m (\w+)\.(\w+)", r"scripts/\1/\2.py", content["script"])
    script = next(word for word in command.split() if word.startswith("scripts/"))
    assert (ROOT / script).is_file()
    assert {"jax", "jaxlib", "iree-base-compiler", "openxla/xprof"} & set(content["versions"])


def test_what_is_written_is_read_and_its_hash_is_its_last_line(sealed: Path) -> None:
    content = stamps.read_sealed(sealed)
    assert content.pop(stamps.SEAL) in sealed.read_text(encoding="utf-8").splitlines()[-2]
    assert content == {"script": "scripts/bench", "versions": VERSIONS, "us": 63.4, "names": ["ä", "b"]}


@pytest.mark.parametrize(
    ("old", "new"),
    [("63.4", "33.4"), ('"ä"', '"a"'), ('"1.0"', '"1.1"'), ("scripts/bench", "scripts/drift"), ('"us"', '"ms"')],
)
def test_a_change_by_hand_is_refused_with_the_file_and_what_to_do(sealed: Path, old: str, new: str) -> None:
    text = sealed.read_text(encoding="utf-8")
    assert text.count(old) == 1
    sealed.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(
        stamps.SealError, match=r"^times.json was changed since `scripts/\w+` wrote it: run that to mea"
    ):
        stamps.read_sealed(sealed)


def test_line_ends_and_indentation_of_another_system_are_no_change(sealed: Path) -> None:
    content = stamps.read_sealed(sealed)
    sealed.write_text(json.dumps(content, indent=4), encoding="utf-8", newline="\r\n")
    assert stamps.read_sealed(sealed) == content


@pytest.mark.parametrize("name", ["script", "versions", stamps.SEAL])
def test_a_file_that_no_script_sealed_is_refused(sealed: Path, name: str) -> None:
    content = json.loads(sealed.read_text(encoding="utf-8"))
    del content[name]
    sealed.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(stamps.SealError, match=f"times.json has no {name}: the script that makes it calls"):
        stamps.read_sealed(sealed)


def test_half_a_file_is_refused(sealed: Path) -> None:
    sealed.write_text(sealed.read_text(encoding="utf-8")[:40], encoding="utf-8")
    with pytest.raises(stamps.SealError, match=r"times.json is no JSON \(.*\): `git checkout times.json` brings"):
        stamps.read_sealed(sealed)


def test_versions_are_told_with_what_is_pinned_where_that_is_another(sealed: Path) -> None:
    pinned = find_pin("jax")
    text = stamps.name_versions({"jax": pinned, "jaxlib": "1.0", "made-up": "3"})
    assert text == f"jax {pinned}, jaxlib 1.0 (this build: {pinned}), made-up 3"
    with pytest.raises(stamps.SealError, match=rf"times.json is of jax 1.0 and not of {pinned}: run `scripts/bench`"):
        stamps.read_current(sealed)


def test_no_other_compilers_jax_counts_as_the_pinned_one() -> None:
    assert stamps.list_aged({"jax": "0.10.2", "torchax": "0.0.13"}) == [f"jax 0.10.2 and not of {find_pin('jax')}"]


def test_the_build_warns_of_every_file_that_was_changed_and_of_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning makes a strict build fail."""
    shutil.copytree(stamps.DATA, tmp_path / "data")
    config: Any = SimpleNamespace(docs_dir=str(tmp_path), config_file_path=str(ROOT / "mkdocs.yml"))
    with caplog.at_level(logging.WARNING):
        site_hook.on_pre_build(config)
        assert caplog.messages == []
        for path in FILES:
            copy = tmp_path / "data" / name(path)
            altered = re.sub(r"\d", lambda digit: str(9 - int(digit[0])), copy.read_text("utf-8"), count=1)
            copy.write_text(altered, "utf-8")
        site_hook.on_pre_build(config)
    assert [message.partition(" since ")[0] for message in caplog.messages] == [
        f"{path.name} was changed" for path in FILES
    ]


def test_pages_read_data_that_was_measured_through_its_seal() -> None:
    """A page that opens such a file itself would not notice a change."""
    wrong = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            opens = re.search(r"read_text|open\(|json\.load", line) and ".json" in line and "data" in line.lower()
            if opens and "stamps." not in line:
                wrong.append(f"{page.name}:{number}: {line.strip()}")
    assert wrong == [], "read it with stamps.read_sealed"


def test_a_record_of_a_release_that_was_changed_is_refused(tmp_path: Path) -> None:
    [path] = [path for path in FILES if path.name == "0.11.2.json"]
    shutil.copy(path, tmp_path)
    assert [release.jax for release in read_releases(tmp_path, stamps.read_text)] == ["0.11.2"]
    copy = tmp_path / path.name
    copy.write_text(path.read_text("utf-8").replace('"fusion kLoop":2', '"fusion kLoop":3', 1), encoding="utf-8")
    with pytest.raises(stamps.SealError, match=r"^0\.11\.2\.json was changed since `scripts/drift --again` wrote it"):
        read_releases(tmp_path, stamps.read_text)
