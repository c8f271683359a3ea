"""The questions are functions too, and shown in a notebook."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from IPython.lib.pretty import pretty

from xla_inspect import capture, collectives, compare, kernels, memory, passes, summary, why
from xla_inspect.errors import InspectError
from xla_inspect.questions.why import OpenQuestions, Why

X = jax.ShapeDtypeStruct((64, 128), jnp.float32)


def layer(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x.T)


def test_a_question_of_a_function_is_the_one_of_its_capture() -> None:
    made = capture(layer, X, passes=False)
    assert memory(layer, X) == memory(made)
    assert summary(layer, X, targets=["cpu"]) == summary(made)
    assert str(summary(made)).startswith("layer: ")


def test_each_question_is_asked_of_a_function_and_of_a_capture() -> None:
    made = capture(layer, X)
    assert kernels(layer, X).launches == kernels(made).launches
    assert [each.name for each in passes(made).effects] == [each.name for each in made.passes]
    assert compare(made, made).holds
    spread = collectives(layer, X, mesh={"data": 8}, specs=(jax.P("data"),))
    assert spread.devices == 8


def test_why_is_asked_of_a_part_of_two_and_of_nothing() -> None:
    one, apart, none = why(layer, X, what="dot"), why(layer, X, apart=("dot", "tanh")), why(layer, X)
    assert isinstance(one, Why)
    assert isinstance(apart, Why)
    assert isinstance(none, OpenQuestions)
    assert one.findings[0].names != ()
    assert apart.findings[0].kind == "apart"
    assert repr(apart.findings[0].verdict)[1:20] in apart._repr_html_().replace("&#x27;", "'")
    assert {question.command.partition(" ")[0] for question in none.questions} <= {"xla-inspect"}
    with pytest.raises(InspectError, match="the nearest are"):
        why(layer, X, what="tann")


def test_a_capture_and_an_answer_show_themselves_in_a_notebook() -> None:
    made = capture(layer, X, passes=False)
    assert made._repr_html_() == summary(made)._repr_html_()
    assert "<table>" in memory(made)._repr_html_()
    assert repr(made).startswith("<Capture of layer for cpu: ")
    assert pretty(memory(made)) == str(memory(made))
