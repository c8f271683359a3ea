"""An error is told at the line of the program that it came from, whatever is raised from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livepage.edits.program_errors import LONGEST, ProgramErrors, find_syntax_error

if TYPE_CHECKING:
    from pathlib import Path


def hear(path: Path, text: str) -> ProgramErrors:
    path.write_text(text, encoding="utf-8")
    errors = ProgramErrors(path)
    try:
        exec(compile(text, str(path), "exec"), {"__name__": "program"})  # noqa: S102 - the test's own code
    except Exception as error:  # noqa: BLE001 - whatever the program raises
        errors.hear(error)
    return errors


def test_the_line_is_the_innermost_of_the_program(tmp_path: Path) -> None:
    errors = hear(tmp_path / "program.py", "def f():\n    return int('x')\n\nf()\n")
    assert errors.first is not None
    assert (errors.first["line"], errors.first["kind"]) == (2, "program")
    assert errors.first["message"].startswith("ValueError: invalid literal")


def test_an_error_that_was_raised_from_another_has_the_line_of_that(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    errors = hear(path, "1 / 0\n")
    other = RuntimeError("it failed")
    try:
        hear(path, "1 / 0\n")
        raise other from ZeroDivisionError()
    except RuntimeError as error:
        errors.hear(error)
    assert errors.first is not None
    assert errors.first["line"] == 1


def test_an_error_of_elsewhere_is_none_of_the_programs(tmp_path: Path) -> None:
    errors = ProgramErrors(tmp_path / "program.py")
    errors.hear(ValueError("elsewhere"))
    assert errors.first is None


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    errors = hear(tmp_path / "program.py", "raise ValueError('x' * 10**7)\n")
    assert errors.first is not None
    assert len(errors.first["message"]) == LONGEST


@pytest.mark.parametrize(("text", "line"), [("x = (\n", 1), ("\n\ndef f(:\n", 3), ("x\0", 1), ("-" * 10**6 + "1", 1)])
def test_what_is_no_python_is_found_before_it_runs(tmp_path: Path, text: str, line: int) -> None:
    fault = find_syntax_error(text, tmp_path / "program.py")
    assert fault is not None
    assert (fault["kind"], fault["line"]) == ("syntax", line)


def test_nothing_is_wrong_with_python(tmp_path: Path) -> None:
    assert find_syntax_error("x = 1\n", tmp_path / "program.py") is None
