"""Every program runs alone and is used."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from common import ROOT

PROGRAMS = sorted(path for path in (ROOT / "snippets" / "programs").glob("*.py") if path.stem != "__init__")


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Future[subprocess.CompletedProcess[str]]]:
    """Every program that a selected test asks for, run by itself in one folder, as many at once as there are cores."""
    folder = tmp_path_factory.mktemp("programs")
    # No PYTHONPATH and no user site: a program must not lean on what lies beside it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pool = ThreadPoolExecutor(os.cpu_count())
    asking = [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__) and "runs" in item.fixturenames
    ]
    selected = dict.fromkeys(item.callspec.params["path"] for item in asking)
    return {path.stem: pool.submit(_run, path, folder, environment) for path in selected}


def _run(path: Path, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", path], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def _uses(name: str) -> list[Path]:
    """Return the files that import or include a program: pages and their modules, tests, checks of claims."""
    word = re.compile(rf"\bprograms[./]{name}\b|\bprograms import\b(?:[^\n(]*| \([^)]*)\b{name}\b")
    readers = [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "snippets" / "claims").glob("*.py"),
        *(ROOT / "snippets" / "pages").glob("*.py"),
        ROOT / "snippets" / "programs" / "gallery.py",
    ]
    return [path for path in readers if path != Path(__file__) and word.search(path.read_text(encoding="utf-8"))]


@pytest.mark.long("each program runs in a process of its own")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_alone_and_prints_what_it_shows(
    path: Path, runs: dict[str, Future[subprocess.CompletedProcess[str]]]
) -> None:
    result = runs[path.stem].result()
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout != ""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_used_by_a_page_or_a_test(path: Path) -> None:
    assert _uses(path.stem) != []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_says_in_one_line_what_it_is_and_holds_a_function_of_its_own_name_or_a_family(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert len((ast.get_docstring(tree) or "").splitlines()) == 1
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    families = {
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    assert path.stem in functions or "PROGRAMS" in families
