"""The statements of the pages hold when bare JAX is asked, by a script that imports nothing of the project."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PROJECT = FOLDER.parents[1]
SUBJECTS = sorted(file.stem.removeprefix("of_") for file in FOLDER.glob("of_*.py"))
BROKEN = """
import bare
bare.prepare()
bare.states("nowhere")(lambda: (1, len(bare.kinds(bare.text(lambda x: x * 2, bare.shape(8)))) + 1))
raise SystemExit(not bare.try_all(bare.STATEMENTS))
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the script's folder."""
    return subprocess.run([sys.executable, *command], cwd=FOLDER, check=False, text=True, capture_output=True)


@pytest.mark.long("a second opinion: the build runs the pages' own checks")
@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_statements_hold_with_bare_jax(subject: str) -> None:
    result = run(".", subject)
    assert (result.returncode, [line for line in result.stdout.splitlines() if line.startswith("FAILS")]) == (0, []), (
        result.stdout + result.stderr
    )
    assert result.stdout.count("holds  ") == result.stdout.count("expected ") > 0


def test_the_script_imports_nothing_of_the_project() -> None:
    ours = {path.stem for folder in ("snippets", "scripts") for path in (PROJECT / folder).iterdir()}
    imported = set()
    for file in FOLDER.glob("*.py"):
        if file.name != Path(__file__).name:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    imported.add((node.module or "").partition(".")[0])
    assert {"jax", "jaxlib"} <= imported
    assert imported & ours == set()


def test_a_statement_that_does_not_hold_is_printed_and_fails() -> None:
    result = run("-c", BROKEN)
    assert result.returncode == 1
    assert result.stdout.startswith("FAILS  ")
    assert result.stdout.split() == ["FAILS", "[nowhere]", "expected", "1", "seen", "2"]
