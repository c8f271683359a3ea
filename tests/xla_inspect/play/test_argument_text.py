"""Typed arguments are parsed and written in a form that can be parsed again."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.errors import InspectError
from xla_inspect.play.argument_text import read_arguments, write_arguments


def call(x: object, n: object = 3, *, params: object = None) -> None:
    """Accept arguments, and do nothing."""


def test_shapes_literals_and_mappings_are_read() -> None:
    args, kwargs = read_arguments("x: bf16[64,128], params: {w: f32[8], b: [f32[], 2]}, n: -1", call, {})
    assert args == (jax.ShapeDtypeStruct((64, 128), jnp.bfloat16), -1)
    assert kwargs["params"]["b"] == [jax.ShapeDtypeStruct((), jnp.float32), 2]


def test_names_of_the_file_are_looked_up() -> None:
    assert read_arguments("HELD[0].real, n: HELD[1]", call, {"HELD": (1.5, "a")}) == ((1.5, "a"), {})


@pytest.mark.parametrize(
    "text", ["x: print(1)", "y: f32[2]", "x: f32[2], x: f32[2]", "x: f32[2] f32[3]", "x: {f32[2]}", ",", "x: q7[2]"]
)
def test_an_invalid_argument_is_rejected(text: str) -> None:
    with pytest.raises(InspectError):
        read_arguments(text, call, {})


def test_written_arguments_round_trip() -> None:
    text = "x: f32[64,128], n: {a: [pred[2], (i8[], 3)]}, params: key[2]"
    args, kwargs = read_arguments(text, call, {})
    assert write_arguments(args, kwargs, call) == text
