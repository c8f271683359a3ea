"""What `scripts/test` leaves out is listed with a reason, is left out, and is said to be."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ENTRIES = tomllib.loads((TESTS / "long.toml").read_text(encoding="utf-8"))["long"]
LISTED = """
[[long]]
why = "They wait."
tests = ["tests/slow", "tests/test_few.py::test_waits", "tests/test_few.py::test_looks"]
but = ["home", "2-away"]
"""
FEW = """
import pytest

@pytest.mark.parametrize("page", ["home", "home-and-garden", "away"])
@pytest.mark.parametrize("width", [1, 2])
def test_looks(page, width):
    pass

def test_waits():
    pass

def test_waits_not():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two files of tests with a list of those that are long."""
    tests = tmp_path / "tests"
    (tests / "slow").mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", tests)
    (tests / "long.toml").write_text(LISTED, encoding="utf-8")
    (tests / "test_few.py").write_text(FEW, encoding="utf-8")
    (tests / "slow" / "test_slow.py").write_text("def test_slow():\n    pass\n", encoding="utf-8")
    return tmp_path


def run(project: Path, *options: str) -> str:
    """Run the tests of a project, and return what pytest says."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--rootdir={project}",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run([*command, *options], cwd=project, check=False, capture_output=True, text=True).stdout


@pytest.mark.parametrize("processes", [[], ["--numprocesses=2"]])
def test_what_is_listed_is_left_out_and_counted(project: Path, processes: list[str]) -> None:
    said = run(project, "--short", *processes)
    assert "4 passed" in said, said
    assert "5 long tests were left out: `scripts/test --all` runs them too\n" in said


def test_without_the_option_all_are_run(project: Path) -> None:
    said = run(project, "tests")
    assert "9 passed" in said
    assert "left out" not in said


def test_the_slowest_files_and_tests_are_named_in_order(project: Path) -> None:
    (project / "tests" / "test_few.py").write_text(
        "import time\ndef test_second():\n    time.sleep(0.2)\ndef test_first():\n    time.sleep(0.4)\n",
        encoding="utf-8",
    )
    said = run(project, "--slowest=2")
    assert re.findall(r"the 2 slowest (?:files|tests)|\b(?:0\.[2-9]|[1-9]\d*\.\d) s  (\S+)", said) == [
        "",
        "tests/test_few.py",
        "",
        "tests/test_few.py::test_first",
        "tests/test_few.py::test_second",
    ]


@pytest.mark.parametrize("name", [name for entry in ENTRIES for name in entry["tests"]])
def test_what_is_listed_exists(name: str) -> None:
    path, _, test = name.partition("::")
    assert (TESTS.parent / path).exists()
    assert not test or f"def {test}(" in (TESTS.parent / path).read_text(encoding="utf-8")


def test_each_entry_says_why_in_a_sentence() -> None:
    assert [entry["why"] for entry in ENTRIES if not re.fullmatch(r"[A-Z].{30,}\.", entry["why"])] == []
