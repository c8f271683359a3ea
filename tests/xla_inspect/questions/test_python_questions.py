"""The questions as Python functions, displayed in a notebook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from IPython.lib.pretty import pretty
from jsonschema import Draft202012Validator

from xla_inspect import capture, collectives, compare, diff_numbers, kernels, memory, numbers, passes, summary, why
from xla_inspect.answers import describe_json, write_json
from xla_inspect.errors import InspectError
from xla_inspect.questions.why import OpenQuestions, Why
from xla_inspect.units import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.answers import Answer

X = jax.ShapeDtypeStruct((64, 128), jnp.float32)


def layer(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x.T)


def test_a_question_about_a_function_is_the_same_for_its_capture() -> None:
    program = capture(layer, X, passes=False)
    assert memory(layer, X) == memory(program)
    assert summary(layer, X, targets=["cpu"]) == summary(program)
    assert str(summary(program)).startswith("layer: ")


def test_unknown_work_is_reported_as_missing() -> None:
    program = capture(jnp.linalg.cholesky, jax.ShapeDtypeStruct((64, 64), jnp.float32), passes=False)
    sentence = "The flops leave out the operations of lapack_spotrf_ffi, which are not known."
    [target] = summary(program).targets
    assert target.unknown_work == ("lapack_spotrf_ffi",)
    assert f"{format_amount(target.flops or 0)} + ?" in str(summary(program))
    assert sentence in " ".join(str(summary(program)).split())
    other = capture(layer, X, passes=False)
    assert sentence in " ".join(str(compare(program, other)).split())
    assert sentence not in " ".join(str(summary(other)).split())


def test_each_question_accepts_a_function_and_a_capture() -> None:
    program = capture(layer, X)
    assert kernels(layer, X).launches == kernels(program).launches
    assert [effect.name for effect in passes(program).effects] == [effect.name for effect in program.passes]
    assert compare(program, program).holds
    spread = collectives(layer, X, mesh={"data": 8}, specs=(jax.P("data"),))
    assert spread.devices == 8


ANSWERS: dict[str, Callable[[], Answer]] = {
    "collectives": lambda: collectives(layer, X, mesh={"data": 8}, specs=(jax.P("data"),)),
    "compare": lambda: compare(capture(layer, X, passes=False), capture(jnp.sort, X, passes=False)),
    "diff_numbers": lambda: diff_numbers(capture(layer, X), capture(lambda x: layer(x) * 2, X)),
    "kernels": lambda: kernels(layer, X),
    "memory": lambda: memory(layer, X),
    "numbers": lambda: numbers(layer, X),
    "passes": lambda: passes(layer, X),
    "summary": lambda: summary(layer, X, targets=["cpu"]),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_fits_a_terminal_and_its_json_keeps_to_its_schema(question: str) -> None:
    answer = ANSWERS[question]()
    Draft202012Validator(describe_json(type(answer))).validate(json.loads(write_json(answer)))
    assert [line for line in str(answer).splitlines() if len(line) > 80 and "xla-inspect" not in line] == []


def test_why_accepts_one_part_two_parts_or_none() -> None:
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


def test_a_capture_and_an_answer_are_displayed_in_a_notebook() -> None:
    program = capture(layer, X, passes=False)
    assert program._repr_html_() == summary(program)._repr_html_()
    assert "<table>" in memory(program)._repr_html_()
    assert repr(program).startswith("<Capture of layer for cpu: ")
    assert pretty(memory(program)) == str(memory(program))
