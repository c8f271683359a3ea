"""The table of launches with the Python expressions that they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapters.launch_table import show_origins

if TYPE_CHECKING:
    from xla_inspect.captured import Captures


def test_each_launch_is_listed_with_its_expressions(captures: Captures) -> None:
    table = show_origins(captures["cpu"])
    product, rest = table.split("broadcast&#95;maximum&#95;fusion")
    assert "<code>x @ w</code>: dot" in product
    assert "<code>x @ w + b</code>: broadcast, add" in rest
    assert "no line" not in table


def test_copies_that_the_compiler_added_are_counted(captures: Captures) -> None:
    assert "1 more launch comes from no line of Python: a copy that the compiler added." in show_origins(
        captures["tpu-v5e"]
    )
