"""Arguments as Python source that needs only JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.play.argument_source import write_source
from xla_inspect.play.argument_text import read_arguments


@pytest.mark.parametrize(
    "text", ["x: f32[64,128], n: 3", "f32[4]", "p: {w: bf16[2,2], b: [i32[], pred[3]]}", "k: key[2]"]
)
def test_the_source_makes_the_same_arguments(text: str) -> None:
    arguments = eval(write_source(text), {"jax": jax, "jnp": jnp})  # noqa: S307 - what is tested
    assert arguments == tuple(
        value for args, kwargs in [read_arguments(text, dict, {})] for value in (*args, *kwargs.values())
    )
