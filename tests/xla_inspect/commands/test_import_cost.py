"""A command imports few of our modules before JAX, also in the process that runs the user's file."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from xla_inspect.commands import list_questions
from xla_inspect.commands.command_arguments import STAGES
from xla_inspect.commands.show import PRINTERS
from xla_inspect.releases import QUESTION_NAMES, QUESTIONS

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 60
COUNT = "len([name for name in sys.modules if name.partition('.')[0] == 'xla_inspect'])"
COMMAND = f"""
import sys
from xla_inspect.commands import main

try:
    main(sys.argv[1:])
finally:
    print("command", {COUNT}, "jax" in sys.modules, file=sys.stderr)
"""
MODEL = f"""
import sys

print("file", {COUNT}, "jax" in sys.modules, file=sys.stderr)
sys.exit()
"""


@pytest.mark.parametrize(("subject", "places"), [("--help", ["command"]), ("model.py:step", ["file", "command"])])
def test_a_question_imports_few_modules_before_jax(subject: str, places: list[str], tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    command = [sys.executable, "-c", COMMAND, "memory", subject]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line.split() for line in result.stderr.splitlines() if line.startswith(("command ", "file "))]
    assert [place for place, _, _ in lines] == places
    assert {has_jax for _, _, has_jax in lines} == {"False"}
    assert [(place, int(count)) for place, count, _ in lines if int(count) >= LIMIT] == []


@pytest.mark.parametrize("name", list_questions())
def test_help_imports_few_modules_and_not_what_a_command_compiles_with(name: str) -> None:
    command = [sys.executable, "-c", COMMAND, name, "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    ((_, count, has_jax),) = (line.split() for line in result.stderr.splitlines() if line.startswith("command "))
    assert (int(count) < LIMIT, has_jax) == (True, "False")


def test_the_choices_in_the_help_are_those_of_the_commands() -> None:
    """They are listed apart from the functions that print and compare, which help must not import."""
    assert (tuple(PRINTERS), tuple(QUESTIONS)) == (STAGES, QUESTION_NAMES)
