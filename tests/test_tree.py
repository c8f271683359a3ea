"""Rules for every tracked file: no local paths or hosts, and modules of limited length."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from common import ROOT

LIMIT = 350
FOLDERS = {".ci", ".github", "docs", "scripts", "snippets", "tests"}
# Split, so that this file does not hold what it looks for.
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "registry." + "npmjs", "npmjs" + ".org", "deb." + "debian.org"]
MACHINE = [f"/{folder}/" for folder in ("work", "root", "tmp")] + [str(ROOT), str(Path.home())]


def list_files() -> list[Path]:
    """Return the files that git tracks, or would track once added; skip the test outside a git clone."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def find(words: list[str]) -> list[str]:
    """Return `file:line` of each line that holds one of the words."""
    pattern = re.compile("|".join(rf"(?<![\w.}}-]){re.escape(word)}" for word in words))
    long_lines = []
    for path in list_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        long_lines += [
            f"{path.relative_to(ROOT)}:{n}" for n, line in enumerate(text.splitlines(), 1) if pattern.search(line)
        ]
    return long_lines


def test_no_tracked_file_names_a_package_registry() -> None:
    assert find(REGISTRIES) == []


def test_no_tracked_file_holds_an_absolute_path_of_the_build_machine() -> None:
    assert find(MACHINE) == []


def test_no_python_file_is_longer_than_its_limit() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in list_files()
        if path.suffix == ".py"
    }
    assert {name: length for name, length in lengths.items() if length > LIMIT} == {}


def test_the_top_level_folders_are_the_agreed_ones() -> None:
    tops = {path.relative_to(ROOT).parts[0] for path in list_files() if len(path.relative_to(ROOT).parts) > 1}
    assert tops - FOLDERS == set()


def test_generated_files_are_not_tracked() -> None:
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert result.stdout == ""


def test_a_lock_file_which_would_name_the_registry_is_not_tracked() -> None:
    assert ROOT / "uv.lock" not in list_files()


def test_each_ignored_rule_has_its_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    rules = [*lint["ignore"], *(rule for rules in lint["per-file-ignores"].values() for rule in rules)]
    assert len(re.findall(r'(?m)^  "[A-Z]+[0-9]*", +# \S', text)) == len(rules)
