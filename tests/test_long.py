"""`scripts/test` leaves out tests marked as long and reports their number; each mark has a reason."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long("it tests the tests' own tools")

TESTS = Path(__file__).resolve().parent
FEW = """
import pytest

@pytest.mark.parametrize("page", ["home", "home-and-garden", "away"])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.long("it looks", but=["home", "2-away"])
def test_looks(page, width):
    pass

@pytest.mark.long("it waits")
def test_waits():
    pass

def test_waits_not():
    pass
"""
SLOW = """
import pytest
pytestmark = pytest.mark.long("all of it waits")

def test_slow():
    pass
"""
UNEVEN = """
import time
def test_second():
    time.sleep(0.2)
def test_first():
    time.sleep(0.4)
"""


def run(project: Path, *options: str, **files: str) -> str:
    """Run files of tests in a project of their own, and return the output of pytest."""
    (project / "tests").mkdir()
    shutil.copy(TESTS / "conftest.py", project / "tests")
    shutil.copy(TESTS.parent / "pyproject.toml", project)
    for name, text in files.items():
        (project / "tests" / f"test_{name}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", f"--rootdir={project}", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=project, check=False, capture_output=True, text=True).stdout


@pytest.mark.parametrize("processes", [[], ["--numprocesses=2"]])
def test_a_long_test_is_left_out_and_counted_but_for_the_parameters_that_its_mark_names(
    tmp_path: Path, processes: list[str]
) -> None:
    output = run(tmp_path, "--short", *processes, few=FEW, slow=SLOW)
    assert "4 passed" in output, output
    assert "5 long tests were left out: `scripts/test --all` runs them too\n" in output


def test_without_the_option_all_are_run(tmp_path: Path) -> None:
    output = run(tmp_path, few=FEW, slow=SLOW)
    assert "9 passed" in output
    assert "left out" not in output


def test_the_slowest_files_and_tests_are_named_in_order(tmp_path: Path) -> None:
    output = run(tmp_path, "--slowest=2", uneven=UNEVEN)
    assert re.findall(r"the 2 slowest (?:files|tests)|\b(?:0\.[2-9]|[1-9]\d*\.\d) s  (\S+)", output) == [
        "",
        "tests/test_uneven.py",
        "",
        "tests/test_uneven.py::test_first",
        "tests/test_uneven.py::test_second",
    ]


def test_each_mark_has_a_reason() -> None:
    calls = [
        node
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.long"
    ]
    assert [
        ast.unparse(call) for call in calls if not re.fullmatch(r"'.{20,}'|\".{20,}\"", ast.unparse(call.args[0]))
    ] == []
    assert calls
