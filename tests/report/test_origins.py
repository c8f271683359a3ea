"""A table says which Python each launch computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.report.origins import origins

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Captures


def test_each_launch_stands_beside_its_expressions(captures: Captures) -> None:
    table = origins(captures["cpu"])
    product, rest = table.split("broadcast&#95;maximum&#95;fusion")
    assert "<code>x @ w</code>: dot" in product
    assert "<code>x @ w + b</code>: broadcast, add" in rest
    assert "no line" not in table


def test_copies_that_the_compiler_added_are_counted(captures: Captures) -> None:
    assert "2 more instructions of ENTRY have no line" in origins(captures["tpu-v5e"])
