"""GitHub's templates have the required form and agree with the project."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest
import yaml

from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("it guards the project's upkeep and no reader")

GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
SCHEMAS = {
    "citation-file-format": [ROOT / "CITATION.cff"],
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "github-issue-forms": FORMS,
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_is_of_the_form_that_its_reader_takes(schema: str) -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        f"--builtin-schema=vendor.{schema}",
        *map(str, SCHEMAS[schema]),
    ]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_each_part_of_a_form_has_an_id_of_its_own(path: Path) -> None:
    ids = [part["id"] for part in yaml.safe_load(path.read_text(encoding="utf-8"))["body"]]
    assert len(set(ids)) == len(ids)


def test_the_citation_names_the_package_as_it_is() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {key: citation[key] for key in ("version", "license")} == {
        key: project[key] for key in ("version", "license")
    }


def test_every_script_and_file_that_the_templates_name_is_there() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*GITHUB.glob("*.md"), *FORMS]]
    names = {name for text in texts for name in re.findall(r"\b(?:scripts/[\w-]+|tests/expected|CHANGELOG\.md)", text)}
    assert sorted(name for name in names if not (ROOT / name).exists()) == []
    assert "scripts/new-chapter" in names


def test_the_changelog_begins_with_what_is_not_released_or_with_the_version_of_the_package() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    first = re.findall(r"^## (.*)$", text, re.MULTILINE)[0]
    assert first == "Unreleased" or first.startswith(f"{version} ")
