"""The code of the README runs, and its licenses match the packages' metadata."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import metadata
from typing import TYPE_CHECKING

import pytest

from common import ROOT
from inside_xla import publication

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LICENCES = {
    "libtpu": "Google Cloud Platform Terms of Service",
    "nvidia-cuda-nvcc": "LicenseRef-NVIDIA-Proprietary",
    "nvidia-cuda-nvdisasm": "LicenseRef-NVIDIA-Proprietary",
    "nvidia-cuda-runtime": "LicenseRef-NVIDIA-Proprietary",
    "nvidia-cuda-crt": "LicenseRef-NVIDIA-Proprietary",
    "nvidia-nvvm": "LicenseRef-NVIDIA-Proprietary",
    "jax-cuda13-plugin": "Apache-2.0",
    "jax-cuda13-pjrt": "Apache-2.0",
    "jax-rocm7-pjrt": "Apache-2.0",
}


@pytest.mark.usefixtures("all_targets")
def test_the_five_lines_of_python_run_as_shown(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(code.strip().replace("\n\n", "\n").splitlines()) == 5
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert re.match(r"\d+ passes ran, \d+ changed the module\nHloModule ", result.stdout)


@pytest.mark.usefixtures("all_targets")
def test_the_licences_of_the_compilers_are_what_their_metadata_states() -> None:
    licenses = {name: metadata(name).get("License-Expression") or metadata(name).get("License") for name in LICENCES}
    assert licenses == LICENCES


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = TEXT.split("```")[1]
    assert TEXT.index(opening) < len("# Inside XLA\n\n```sh\n")
    assert re.findall(r"(?m)^scripts/\w+", opening) == ["scripts/serve", "scripts/test"]


def test_the_package_is_installed_from_the_source_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPO_URL", raising=False)
    package = (ROOT / "snippets" / "xla_inspect" / "README.md").read_text(encoding="utf-8")
    opening, rest = package.split("```")[1:3]
    commands = [line.partition("#")[0].strip() for line in opening.splitlines()[1:]]
    assert commands == [publication.format_install_command(), publication.format_install_command("all")]
    assert rest.strip().partition("\n")[0] == publication.explain_source() or not publication.explain_source()
    assert ("in no registry" in package) == bool(publication.explain_source())


@pytest.mark.parametrize("page", ["README.md", "docs/contributing.md", "docs/contributing-reference.md"])
def test_every_file_and_folder_that_a_contributor_is_sent_to_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"\b(?:docs|snippets|scripts|tests)/[\w/-]*(?:\.\w+)*", text))
    # The walk writes a chapter of this name.
    assert [name for name in sorted(paths) if not (ROOT / name).exists() and "reduced" not in name] == []


def test_the_readme_names_every_command_that_people_type() -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("| `scripts/` "))
    commands = {path.name for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix}
    assert set(re.findall(r"`([\w-]+)`", row)) == commands
