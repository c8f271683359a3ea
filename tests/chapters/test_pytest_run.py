"""Independence of pytest's output on a page from the environment of the build."""

from __future__ import annotations

import pytest

from chapters import pytest_run

LONG = "a message that is too long for a line of eighty characters, and is cut"
FAILING = {"test_long.py": f'def test_long():\n    assert not "{LONG}"\n'}


@pytest.mark.parametrize(
    ("name", "value"), [("CI", "true"), ("COLUMNS", "200"), ("PYTEST_ADDOPTS", "-v"), ("FORCE_COLOR", "1")]
)
def test_pytest_settings_in_the_environment_are_ignored(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CI", "COLUMNS", "PYTEST_ADDOPTS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    plain = pytest_run.run_tests(FAILING, expected=1)
    monkeypatch.setenv(name, value)
    assert pytest_run.run_tests(FAILING, expected=1) == plain


def test_an_unexpected_exit_status_is_reported_with_the_output() -> None:
    with pytest.raises(RuntimeError, match=r"pytest ended with 1, not 0: (.|\n)*too long for a line"):
        pytest_run.run_tests(FAILING)
