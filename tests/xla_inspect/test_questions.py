"""The questions are functions too, and shown in a notebook."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from IPython.core.interactiveshell import InteractiveShell

import xla_inspect
from xla_inspect import capture, memory, summary
from xla_inspect.commands import answer_cell
from xla_inspect.errors import InspectError

X = jax.ShapeDtypeStruct((64, 128), jnp.float32)


def layer(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x.T)


def test_a_question_of_a_function_is_the_one_of_its_capture() -> None:
    made = capture(layer, X, passes=False)
    assert memory(layer, X) == memory(made)
    assert summary(layer, X, targets=["cpu"]) == summary(made)
    assert str(summary(made)).startswith("layer: ")


def test_a_capture_and_an_answer_show_themselves_in_a_notebook() -> None:
    made = capture(layer, X, passes=False)
    assert made._repr_html_() == summary(made)._repr_html_()
    assert "<table>" in memory(made)._repr_html_()


def test_a_cell_asks_about_the_call_at_its_end_which_is_not_made() -> None:
    shell = InteractiveShell()
    xla_inspect.load_ipython_extension(shell)
    shell.user_ns["x"] = jnp.ones((8, 8))
    cell = "def f(x, by=1.0):\n    return x * by\nf(x, by=2.0)"
    shown = shell.run_cell_magic("xla", "memory --target cpu", cell)
    assert repr(shown).startswith("f on CPU, per device: needs ")
    assert "<table>" in shown._repr_html_()
    assert callable(shell.user_ns["f"])


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("memory", "x = 3", "the last line of the cell is the call"),
        ("memory", "", "the last line of the cell is the call"),
        ("memory --target tpu-v9", "abs(-1.0)", "no target is named 'tpu-v9'"),
    ],
)
def test_a_cell_that_asks_nothing_is_told_what_to_write(line: str, cell: str, said: str) -> None:
    with pytest.raises(InspectError, match=said):
        answer_cell(line, cell, {})
