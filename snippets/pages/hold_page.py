"""Example tests and tables of the page about testing compiled code with the fixture `hlo`."""

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
"""The line of the step that writes the row, and a variant that also reads the old table."""

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
    """Compile the step, with its table donated, for each usual target that this machine can compile for."""
    return {
        target: hold_call(function, *remember.EXAMPLE, target=target, donate=0)
        for target in USUAL
        if not available()[target]
    }


def run_test(test: str, *, reads: bool = False, expected: int = 0) -> str:
    """Run pytest on a test of the step in `remember.py`, and return its output.

    Args:
        test: The content of the test file.
        reads: Whether the step also reads the old table.
        expected: The expected exit status of pytest.
    """
    file = Path("snippets/programs/remember.py").read_text(encoding="utf-8")
    step = file.replace(WRITE, READ) if reads else file
    return pytest_run.run_tests({"remember.py": step, "test_remember.py": test}, expected=expected)


def does_hold(assertion: Callable[[], object]) -> bool:
    """Call an assertion of a `CompiledProgram`, and return False if it raises `BrokenError`, otherwise True."""
    try:
        assertion()
    except BrokenError:
        return False
    return True


def is_in_place(program: CompiledProgram) -> bool:
    """Return whether the step updates its table in place."""
    return does_hold(lambda: program.in_place("table"))


def show_programs(programs: Mapping[str, CompiledProgram], rows: Mapping[str, Callable[[CompiledProgram], str]]) -> str:
    """Return a Markdown table with one property of the program per row and one target per column."""
    return markdown.table(
        ["property", *map(title, programs)],
        [(label, *map(ask, programs.values())) for label, ask in rows.items()],
        numbers=range(1, 1 + len(programs)),
    )


def show_numbers() -> str:
    """Return a Markdown table of the numbers that a test can compare, such as `step.peak`, with their meanings."""
    numbers = {f"step.{name}": measure.title for name, measure in MEASURES.items()} | {
        "step.traces": "the number of traces for several calls of the function, `hlo(..., calls=[(state, 0.1)])`",
        'step.collectives("all-reduce", over="data").bytes': (
            "the bytes that each device contributes in a step, including each loop iteration; also `.sent` and `.count`"
        ),
    }
    return markdown.table(["number", "meaning"], [(markdown.code(name), text) for name, text in numbers.items()])


def show_assertions() -> str:
    """Return a Markdown table of the assertion methods of `CompiledProgram`, with their docstrings' first lines."""
    # The table is generated from the docstrings, so a new assertion appears on the page without an edit.
    documented = {
        name: inspect.getdoc(method) or ""
        for name, method in inspect.getmembers(CompiledProgram, inspect.isfunction)
        if not name.startswith("_")
    }
    return markdown.table(
        ["assertion", "asserts"],
        [
            (markdown.code(f"step.{name}(...)"), text.split("\n")[0].removeprefix("Assert ").rstrip("."))
            for name, text in documented.items()
            if text.startswith("Assert")
        ],
    )
