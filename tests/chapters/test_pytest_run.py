"""Independence of pytest's output on a page from the environment of the build."""

from __future__ import annotations

import pytest

from chapters import pytest_run

LONG = "a message that is too long for a line of eighty characters, and is cut"
FAILING = {"test_long.py": f'def test_long():\n    assert not "{LONG}"\n'}


@pytest.mark.parametrize(
    ("name", "value"), [("CI", "true"), ("COLUMNS", "200"), ("PYTEST_ADDOPTS", "-v"), ("FORCE_COLOR", "1")]
)
def test_what_the_environment_asks_of_pytest_changes_nothing(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CI", "COLUMNS", "PYTEST_ADDOPTS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    plain = pytest_run.run_tests(FAILING, expected=1)
    monkeypatch.setenv(name, value)
    assert pytest_run.run_tests(FAILING, expected=1) == plain


def test_another_exit_status_than_the_expected_one_is_told_with_what_was_printed() -> None:
    with pytest.raises(RuntimeError, match=r"pytest ended with 1, not 0: (.|\n)*too long for a line"):
        pytest_run.run_tests(FAILING)
