"""No browser test waits a fixed time: it waits for a state with a function of `waiting.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BROWSER = ROOT / "tests" / "browser"


def list_waits(file: Path) -> list[str]:
    """Return each call in a file that waits a fixed time, with its line."""
    calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    return [
        f"{file.name}:{call.lineno}: {name}"
        for call in calls
        if (name := ast.unparse(call.func).rpartition(".")[2]) in {"wait_for_timeout", "sleep"}
    ]


def test_no_test_of_the_browser_waits_a_fixed_time() -> None:
    files = [file for file in BROWSER.glob("*.py") if file.name != "waiting.py"]
    assert len(files) > 20
    assert [wait for file in files for wait in list_waits(file)] == []


@pytest.mark.parametrize("call", ["page.wait_for_timeout(500)", "time.sleep(0.5)", "sleep(1)"])
def test_a_fixed_wait_is_found(tmp_path: Path, call: str) -> None:
    (tmp_path / "test_page.py").write_text(f'TEXT = "time.sleep(8)"\n{call}\n', encoding="utf-8")
    assert list_waits(tmp_path / "test_page.py") == [f"test_page.py:2: {call.partition('(')[0].rpartition('.')[2]}"]
