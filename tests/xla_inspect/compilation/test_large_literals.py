"""Large closed-over arrays: listed, omitted from texts, and still distinguished."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import capture
from xla_inspect.captured import pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture

SIZE = 20_000
X = jax.ShapeDtypeStruct((), jnp.float32)


def close_over(table: np.ndarray) -> Callable[[jax.Array], jax.Array]:
    def look_up(x: jax.Array) -> jax.Array:
        return jnp.max(table * x)

    return look_up


def capture_with(seed: int, target: str = "cpu") -> Capture:
    table = np.random.default_rng(seed).normal(size=SIZE).astype(np.float32)
    return capture(close_over(table), X, target=target)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_no_text_contains_a_large_literal(target: str) -> None:
    capture = capture_with(1, target)
    longest = max(max(map(len, text.split("\n"))) for text in (capture.stablehlo, capture.before, capture.after))
    assert longest < SIZE / 4
    assert "dense_resource<__elided__> : tensor<20000xf32>" in capture.stablehlo
    assert len(pack(capture)) < SIZE * 4
    assert capture.cost.bytes_accessed >= SIZE * 4


def test_two_tables_with_equal_texts_are_two_programs() -> None:
    one, other = capture_with(1), capture_with(2)
    assert (one.stablehlo, one.before) == (other.stablehlo, other.before)
    assert one.identity != other.identity
    assert one.identity == capture_with(1).identity


def test_a_constant_is_listed_with_its_size_and_the_line_that_uses_it() -> None:
    (constant,) = capture_with(1).constants
    assert (constant.dtype, constant.shape, constant.size) == ("float32", (SIZE,), 4 * SIZE)
    line = close_over.__code__.co_firstlineno + 2
    assert (constant.file.rpartition("/")[2], constant.line) == ("test_large_literals.py", line)


def test_a_small_literal_stays_whole() -> None:
    program = capture(close_over(np.arange(8, dtype=np.float32)), X)
    assert "dense<[0.000000e+00, 1.000000e+00" in program.stablehlo
    assert program.constants == ()


def test_a_constant_of_an_inner_function_is_found_once() -> None:
    table = np.arange(1000, dtype=np.float32)
    inner = jax.jit(close_over(table))
    (constant,) = capture(lambda x: inner(x) + inner(x + 1), X).constants
    assert constant.shape == (1000,)


def test_equations_are_counted_by_scope_and_function_through_inner_functions() -> None:
    def block(x: jax.Array) -> jax.Array:
        with jax.named_scope("encoder"):
            return jax.jit(lambda x: jnp.sin(x) * 2)(x)

    def run(x: jax.Array) -> jax.Array:
        return block(block(x))

    program = capture(run, X)
    equation_numbers = {
        (equation.scope, equation.function.rpartition(".")[2]): equation.number for equation in program.equations
    }
    assert equation_numbers == {("encoder", "block"): 2, ("encoder", "<lambda>"): 4}
    assert pickle.loads(pickle.dumps(program.equations)) == program.equations  # noqa: S301 - its own
