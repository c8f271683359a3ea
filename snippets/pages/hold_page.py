"""Tests that the page about budgets shows and runs, and what it asks of the programs."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from chapters import pytest_run
from programs import remember
from xla_inspect.budgets import MEASURES, BrokenError, CompiledProgram, hold_call
from xla_inspect.compilation import USUAL
from xla_inspect.report import markdown, title
from xla_inspect.targets import available

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WRITE, READ = "table = table.at[slot].set(z[0])", "table, z = table.at[slot].set(z[0]), z + table.sum()"
"""The line of the step that writes the row, and one that reads the old table too."""

TEST = """
from remember import EXAMPLE, remember


def test_the_table_is_updated_in_place(hlo):
    step = hlo(remember, *EXAMPLE, donate=0)
    step.in_place("table")
    assert step.peak < "8 MiB"
    assert step.kernels <= 14
""".lstrip()
CAREFUL = """
from remember import EXAMPLE, remember


def test_the_step_is_what_it_was(hlo):
    hlo(remember, *EXAMPLE, donate=0).as_recorded("peak", "kernels", within="5 %")
""".lstrip()
FORGOTTEN = """
from remember import EXAMPLE, remember


def test_the_step_is_small(hlo):
    step = hlo(remember, *EXAMPLE)
    step.peak < "8 MiB"
""".lstrip()


def hold_step(function: Callable[..., object]) -> dict[str, CompiledProgram]:
    """Return the step for each target that can be compiled for here, with its table donated."""
    return {
        target: hold_call(function, *remember.EXAMPLE, target=target, donate=0)
        for target in USUAL
        if not available()[target]
    }


def run_test(test: str, *, reads: bool = False, expected: int = 0) -> str:
    """Return what pytest prints of a test of the step.

    Args:
        test: The test's file.
        reads: Whether the step reads the old table too.
        expected: The exit status of pytest.
    """
    file = Path("snippets/programs/remember.py").read_text(encoding="utf-8")
    step = file.replace(WRITE, READ) if reads else file
    return pytest_run.run_tests({"remember.py": step, "test_remember.py": test}, expected=expected)


def does_hold(assertion: Callable[[], object]) -> bool:
    """Return whether an assertion of a budget holds."""
    try:
        assertion()
    except BrokenError:
        return False
    return True


def is_in_place(program: CompiledProgram) -> bool:
    """Return whether the step updates its table in place."""
    return does_hold(lambda: program.in_place("table"))


def show_programs(programs: Mapping[str, CompiledProgram], rows: Mapping[str, Callable[[CompiledProgram], str]]) -> str:
    """Return what is asked of a program for each target, as a table.

    Args:
        programs: Target to the program.
        rows: The heading of each row, to the content of its cells.
    """
    return markdown.table(
        ["what is asked", *map(title, programs)],
        [(label, *map(ask, programs.values())) for label, ask in rows.items()],
        numbers=range(1, 1 + len(programs)),
    )


def show_numbers() -> str:
    """Return the numbers that the fixture offers to compare, as a table."""
    numbers = {f"step.{name}": measure.title for name, measure in MEASURES.items()} | {
        "step.traces": "how often JAX traces the function for several calls, `hlo(..., calls=[(state, 0.1)])`",
        'step.collectives("all-reduce", over="data").bytes': (
            "what each device brings to them in a step, trips of loops counted; also `.sent` and `.count`"
        ),
    }
    return markdown.table(["number", "what it is"], [(markdown.code(name), text) for name, text in numbers.items()])


def show_assertions() -> str:
    """Return the assertions of a compiled program with the first line of their docstrings, as a table."""
    documented = {
        name: inspect.getdoc(method) or ""
        for name, method in inspect.getmembers(CompiledProgram, inspect.isfunction)
        if not name.startswith("_")
    }
    return markdown.table(
        ["assertion", "what has to hold"],
        [
            (markdown.code(f"step.{name}(...)"), text.split("\n")[0].removeprefix("Assert ").rstrip("."))
            for name, text in documented.items()
            if text.startswith("Assert")
        ],
    )
