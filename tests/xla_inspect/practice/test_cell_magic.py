"""The cell of an exercise is marked in a notebook without reading or writing the user's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from IPython.testing.globalipapp import start_ipython

from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.notebook import find_exercise, starter

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

KEY = "jaxpr/follow"


@pytest.fixture(scope="module")
def shell() -> InteractiveShell:
    """An IPython shell with the magic loaded as in a notebook."""
    shell = start_ipython()
    shell.run_line_magic("load_ext", "xla_inspect.practice.cell_magic")
    return shell


def said_of(shell: InteractiveShell, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the printed output of a cell with this text."""
    capsys.readouterr()
    shell.run_cell_magic("exercise", KEY, text)
    return capsys.readouterr().out


def test_an_unsolved_cell_is_reported(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    text = starter(find_exercise(KEY))
    line = next(at for at, line in enumerate(text.split("\n"), 2) if "TODO(human)" in line)
    assert said_of(shell, text, capsys).strip() == f"not yet written: cell:{line} needs follow"


def test_a_cell_that_calls_an_unsolved_function_is_reported(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    output = said_of(shell, f"{starter(find_exercise(KEY))}\nfollow(None, 0)\n", capsys)
    assert output.startswith("not yet written: cell:")


def test_a_wrong_answer_is_explained_in_terms_of_the_jaxpr(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "def follow(jaxpr, argument):\n    return [equation.primitive.name for equation in jaxpr.eqns]\n"
    output = said_of(shell, wrong, capsys)
    assert "WRONG" in output
    assert "exercise-" not in output


def test_an_error_names_the_line_of_the_cell(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """The line counts from the magic, which is the first line of the cell."""
    output = said_of(shell, "def follow(jaxpr, argument):\n    return jaxpr.nothing\n", capsys)
    assert "WRONG: cell:3: AttributeError" in output


def test_a_cell_that_does_not_run_is_not_marked(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    output = said_of(shell, "def follow(jaxpr, argument)\n", capsys)
    assert "SyntaxError" in output
    assert "right" not in output


def test_a_right_cell_counts_as_solved_until_it_is_wrong(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "right" in said_of(shell, find_exercise(KEY).solution_text, capsys)
    assert callable(shell.user_ns["follow"])
    assert Logbook().is_right(find_exercise(KEY))
    said_of(shell, starter(find_exercise(KEY)), capsys)
    assert Logbook().is_right(find_exercise(KEY)), "a cell that is not written yet undoes nothing"
    assert "WRONG" in said_of(shell, "def follow(jaxpr, argument):\n    return []\n", capsys)
    assert not Logbook().is_right(find_exercise(KEY))
