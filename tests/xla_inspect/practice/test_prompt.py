"""A simulated prompt shows only statements that were run."""

from __future__ import annotations

import pytest

from xla_inspect.practice.prompt import Prompt


def test_lines_blocks_and_results_look_as_at_pythons_prompt() -> None:
    typed = Prompt(n=2).type("""
        x = n + 1
        def double(y):
            print("doubling", y)
            return y * 2
        double(x)
        print("said")
        None
    """)
    assert typed.splitlines() == [
        ">>> x = n + 1",
        ">>> def double(y):",
        '...     print("doubling", y)',
        "...     return y * 2",
        ">>> double(x)",
        "doubling 3",
        "6",
        '>>> print("said")',
        "said",
        ">>> None",
    ]


def test_names_are_remembered() -> None:
    session = Prompt()
    session.type("a = 1")
    assert session.type("a + 1") == ">>> a + 1\n2"
    assert session["a"] == 1


def test_an_error_is_one_line_and_does_not_end_the_session() -> None:
    session = Prompt()
    assert session.type("1 / 0\n3") == ">>> 1 / 0\nZeroDivisionError: division by zero\n>>> 3\n3"
    assert session.type("[][0]").endswith("IndexError: list index out of range")


def test_a_block_within_brackets_is_one_statement() -> None:
    assert Prompt().type("sum([\n    1,\n    2,\n])") == ">>> sum([\n...     1,\n...     2,\n... ])\n3"


def test_an_interrupt_ends_the_session() -> None:
    with pytest.raises(KeyboardInterrupt):
        Prompt().type("raise KeyboardInterrupt")
