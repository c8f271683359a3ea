"""Tests of the rejection of test modules whose imports change the compiler settings of all other tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("os.environ['XLA_FLAGS'] = '--xla_cpu_enable_fast_math=true'", "1 error"),
        ("os.environ['UNREAD'] = '1'", "1 passed"),
    ],
)
def test_a_test_module_whose_import_sets_compiler_flags_is_rejected(tmp_path: Path, line: str, expected: str) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "script.py").write_text(f"import os\n{line}\n", encoding="utf-8")
    (tmp_path / "test_one.py").write_text("import script\n\ndef test_it():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_one.py"]
    result = subprocess.run(command, cwd=tmp_path, env=os.environ, check=False, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1].startswith(expected)
    assert ("importing this module sets XLA_FLAGS" in result.stdout) == ("XLA_FLAGS" in line)
