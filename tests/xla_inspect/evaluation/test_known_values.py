"""An operation with the same operands runs once, whatever its module, its name and its place are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from xla_inspect import jax_private
from xla_inspect.evaluation.evaluator import EXPANDERS, return_evaluator, take_evaluator
from xla_inspect.evaluation.known_values import KnownValues
from xla_inspect.evaluation.plain_lines import order_transposes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.evaluation import Evaluator
    from xla_inspect.evaluation.known_values import Shards

X = np.float32([3, -4])
FIRST = """HloModule m

ENTRY %main {
  %x = f32[2] parameter(0)
  %unused = f32[2] sine(%x)
  %size = f32[2] abs(%x)
  %root = f32[2] sqrt(%size)
  %product = f32[2] multiply(%root, %x)
  ROOT %results = (f32[2], f32[2]) tuple(%product, %root)
}
"""
RENAMED = """HloModule other

%square_root {
  %x = f32[2] parameter(0)
  ROOT %y = f32[2] sqrt(%x)
}

ENTRY %main.1 {
  %y = f32[2] parameter(0)
  %a = f32[2] OPERATION(%y)
  %b = f32[2] call(%a), to_apply=%square_root
  %c = f32[2] sqrt(%a)
  %product.2 = f32[2] multiply(%c, %y)
  ROOT %results = (f32[2], f32[2]) tuple(%product.2, %b)
}
"""


class Runs:
    """Values of modules, and the opcodes that had to run for the last module."""

    def __init__(self) -> None:
        """Start without values."""
        self.known, self.opcodes = KnownValues(), list[str]()

    def run(self, text: str, passes: Sequence[str] = EXPANDERS) -> Sequence[Shards]:
        """Run a module with one argument on one device."""
        self.opcodes.clear()
        return self.known.run(text, tuple(passes), [[X]], self._compute)

    def _compute(self, text: str, arguments: Sequence[Shards]) -> Sequence[Shards]:
        self.opcodes.append(text.rpartition("ROOT ")[2].split("(")[0].split()[-1])
        return jax_private.run_executable(jax_private.compile_hlo(text, EXPANDERS, 1), arguments)


def test_only_operations_with_other_operands_or_settings_run_again() -> None:
    runs = Runs()
    expected = [X * np.sqrt(np.abs(X)), np.sqrt(np.abs(X))]
    for text, passes, opcodes in (
        (FIRST, EXPANDERS, ["abs", "sqrt", "multiply"]),
        (RENAMED.replace("OPERATION", "abs"), EXPANDERS, []),
        (FIRST, EXPANDERS[1:], ["abs", "sqrt", "multiply"]),
    ):
        results = runs.run(text, passes)
        assert runs.opcodes == opcodes
        np.testing.assert_allclose([result for [result] in results], expected)
    # The clamped values differ, so the square roots differ, too.
    changed = runs.run(RENAMED.replace("OPERATION", "negate"))
    assert runs.opcodes == ["negate", "sqrt", "multiply"]
    assert np.isnan(changed[1][0]).tolist() == [True, False]


def test_an_operation_that_returns_the_same_bits_does_not_make_its_users_run_again() -> None:
    runs = Runs()
    runs.run(FIRST)
    runs.run(FIRST.replace("%size = f32[2] abs(%x)", "%n = f32[2] negate(%x)\n  %size = f32[2] maximum(%x, %n)"))
    assert runs.opcodes == ["negate", "maximum"]


def test_names_like_those_of_ordered_transposes_do_not_change_the_operations_that_run() -> None:
    runs = Runs()
    results = runs.run(FIRST.replace("%x", "%x.zero").replace("%size", "%size.count"))
    assert runs.opcodes == ["abs", "sqrt", "multiply"]
    np.testing.assert_allclose(results[1][0], np.sqrt(np.abs(X)))


@pytest.mark.parametrize("operation", ["f32[2]{0} custom-call(%x)", "((f32[2])) custom-call(%x)"])
def test_a_module_with_a_layout_or_a_nested_tuple_runs_as_a_whole(operation: str) -> None:
    runs = Runs()
    with pytest.raises(ValueError, match="only as a whole"):
        runs.run(f"HloModule m\n\nENTRY %main {{\n  %x = f32[2] parameter(0)\n  ROOT %y = {operation}\n}}\n")
    assert runs.opcodes == []


def test_a_transpose_runs_with_the_operations_that_fix_its_order_in_memory(evaluator: Evaluator) -> None:
    lines = ("%x = f32[2,2] parameter(0)", "%y = f32[2,2] transpose(%x), dimensions={1,0}")
    body = "\n  ".join(order_transposes(lines))
    text = f"HloModule m\n\nENTRY %main {{\n  {body}\n  ROOT %z = f32[2,2] negate(%y)\n}}\n"
    square = np.float32([[1, 2], [3, 4]])
    [[result]] = evaluator.run_text(text, [[square]], ["copy-insertion"])
    np.testing.assert_array_equal(result, -square.T)


def test_comparisons_share_an_evaluator_whose_process_starts_again_if_it_has_ended() -> None:
    evaluator = take_evaluator(1)
    other = take_evaluator(1)
    assert other is not evaluator
    return_evaluator(other)
    for _ in range(2):
        [_, [root]] = evaluator.run_text(FIRST, [[X]])
        np.testing.assert_allclose(root, np.sqrt(np.abs(X)))
        child = evaluator._child  # noqa: SLF001 - its end is the subject
        assert child is not None
        child.end()
    return_evaluator(evaluator)
    assert take_evaluator(1) is evaluator
    return_evaluator(evaluator)
