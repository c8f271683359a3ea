"""No test is skipped if everything is required, except for documented reasons."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long("it tests the tests' own tools")

TESTS = Path(__file__).resolve().parent
SKIPPED = """
import pytest

def test_passes():
    pass

def test_is_skipped():
    pytest.skip("nothing to look at")

@pytest.mark.skipif(True, reason="nothing to look for")
def test_is_marked():
    pass

@pytest.fixture
def thing():
    pytest.skip("nothing to hold")

def test_takes(thing):
    pass

@pytest.mark.skipif(True, reason="this machine has a GPU")
def test_may():
    pass
"""


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        ({"REQUIRE_TARGETS": "all", "REQUIRE_BROWSER": "1"}, {"passed": 1, "failed": 1, "error": 2, "skipped": 1}),
        ({"REQUIRE_TARGETS": "all", "REQUIRE_BROWSER": ""}, {"passed": 1, "skipped": 4}),
        ({"REQUIRE_TARGETS": "", "REQUIRE_BROWSER": "1"}, {"passed": 1, "skipped": 4}),
    ],
)
def test_a_test_that_is_skipped_although_everything_is_required_fails(
    tmp_path: Path, required: dict[str, str], expected: dict[str, int]
) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_few.py").write_text(SKIPPED, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "test_few.py"]
    result = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **required}, check=False, capture_output=True, text=True
    )
    counts = re.findall(r"(\d+) (passed|failed|error|skipped)", result.stdout.splitlines()[-1])
    assert {name: int(count) for count, name in counts} == expected
    assert result.stdout.count("skipped although everything is required: nothing to ") == 3 * ("failed" in expected)
