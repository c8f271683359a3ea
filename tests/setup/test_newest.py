"""The newest JAX is found, pinned, and reported on with the sentences that it makes false."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import newest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
FAILED = """\
=================================== FAILURES ===================================
____________________ test_a_page_holds_what_it_claims[fusion.md] ____________________
docs/fusion.md:42: AssertionError: left was 3, right was 4
docs/practice/hlo.py:7: KeyError: 'a | b'
=========================== short test summary info ============================
FAILED tests/site/test_pages.py::test_a_page_holds_what_it_claims[fusion.md]
"""


def test_what_moves_together_is_pinned_by_the_project() -> None:
    assert set(newest.read_pins(PROJECT)) == set(newest.MOVED)


def test_moving_the_pins_moves_them_all_and_nothing_else() -> None:
    moved = newest.move(PROJECT, dict.fromkeys(newest.MOVED, "99.1"))
    assert newest.read_pins(moved) == dict.fromkeys(newest.MOVED, "99.1")
    same = [new for old, new in zip(PROJECT.splitlines(), moved.splitlines(), strict=True) if old == new]
    assert len(PROJECT.splitlines()) - len(same) == len(moved.splitlines()) - len(same)
    assert newest.move(moved, newest.read_pins(PROJECT)).count("==99.1") == 0


@pytest.mark.usefixtures("all_targets")
def test_the_registry_answers_with_one_version_of_each() -> None:
    found = newest.resolve()
    assert set(found) == set(newest.MOVED)
    assert found["jax"] == found["jaxlib"] == found["jax-cuda13-plugin"]


def test_where_the_pins_are_the_newest_nothing_is_left(tmp_path: Path) -> None:
    """Run as the workflow runs it, in a copy whose pins are what the registry answers with."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    text = newest.move(PROJECT, newest.resolve())
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    command = ["bash", "scripts/newest", "try", "found"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("the pins are the newest release already\n")
    assert not (tmp_path / "found").exists()
    assert (tmp_path / "pyproject.toml").read_text(encoding="utf-8") == text


def test_an_older_pin_is_moved_and_both_versions_are_named(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "newest.py", tmp_path / "scripts")
    old = newest.move(PROJECT, {"jax": "0.1.2"})
    (tmp_path / "pyproject.toml").write_text(old, encoding="utf-8")
    command = [sys.executable, "scripts/newest.py", "pins"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    now = newest.read_pins((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    assert done.stdout == f"0.1.2 {now['jax']}\n"
    assert now["jax"] == now["jaxlib"]


def test_the_report_says_which_sentences_became_false(tmp_path: Path) -> None:
    (tmp_path / "pages.log").write_text(FAILED, encoding="utf-8")
    (tmp_path / "drift.md").write_text("One *pass* is new.\n" * 9000, encoding="utf-8")
    (tmp_path / "drift.log").write_text("~~~\n" + "a line\n" * 100, encoding="utf-8")
    text = newest.report(tmp_path, "1.0", "2.0")
    assert "## Sentences that became false: 2" in text
    assert "| `docs/fusion.md:42` | `AssertionError: left was 3, right was 4` |" in text
    assert "| `docs/practice/hlo.py:7` | `KeyError: 'a \\| b'` |" in text
    assert "## What the compiler does differently\n\nOne *pass* is new.\n" in text
    assert len(text) < 65_536
    assert "~~~~text\n" in text or "~~~text\n" in text
    assert f"The last {newest.MOST_LINES} of 101 lines:" in text


def test_a_report_without_failures_says_that_none_was_found(tmp_path: Path) -> None:
    (tmp_path / "pages.log").write_text("all checks passed\n", encoding="utf-8")
    assert "None was found." in newest.report(tmp_path, "1.0", "2.0")
