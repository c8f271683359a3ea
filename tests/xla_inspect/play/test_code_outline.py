"""The definitions in code, read without running it."""

from __future__ import annotations

import pytest

from xla_inspect.play.code_outline import outline

CODE = """import jax
import jax.numpy as jnp

N = 4

def helper(a): return a

def f(x, y, n=3):
    return x

EXAMPLE = (jax.ShapeDtypeStruct((N, 2 * N), jnp.float32), {"w": jnp.zeros(8)})
"""


def test_functions_parameters_and_shapes_are_found() -> None:
    answer = outline(CODE)
    assert [(function["name"], function["line"]) for function in answer["functions"]] == [("helper", 6), ("f", 8)]
    assert answer["chosen"] == "f"
    assert answer["functions"][1]["parameters"] == ["x", "y", "n"]
    assert answer["arguments"] == "x: f32[4,8], y: {w: f32[8]}"


def test_the_wanted_function_is_chosen() -> None:
    assert outline(CODE, "helper")["chosen"] == "helper"


def test_programs_by_name_can_be_chosen() -> None:
    answer = outline('PROGRAMS = {"a b": (f, (1,))}\n')
    assert [function["name"] for function in answer["functions"]] == ["a b"]
    assert answer["chosen"] == "a b"


def test_a_syntax_error_has_its_place() -> None:
    (error,) = outline("def f(x):\n    return (\n")["errors"]
    assert error["line"] == 2


@pytest.mark.parametrize("code", ["(" * 20_000, "x = '\ud800'", "\0", "return 1"])
def test_unparsable_python_is_an_error(code: str) -> None:
    assert outline(code)["errors"]


@pytest.mark.parametrize(
    "example",
    ["no_such_name", "EXAMPLE", "print(1)", "1 // 0", "jax.ShapeDtypeStruct((N,), jnp.no_type)", "'a'.join(N)", "N[0]"],
)
def test_an_example_that_is_not_simple_leaves_the_arguments_empty(example: str) -> None:
    answer = outline(f"N = 4\ndef f(x): return x\nEXAMPLE = ({example},)\n")
    assert (answer["arguments"], answer["errors"]) == ("", [])
