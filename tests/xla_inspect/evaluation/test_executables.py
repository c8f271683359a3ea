"""The evaluator gives what the CPU's executable gives, bit for bit, for the module after all passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from programs.gallery import PROGRAMS
from xla_inspect import capture
from xla_inspect.evaluation import Evaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GALLERY = ("layernorm", "block", "while", "scatter", "ranked", "fft", "cholesky", "random")


def loss(weights: tuple[jax.Array, jax.Array], x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ weights[0] @ weights[1]).astype(jnp.float32).sum()


_TRANSPOSED: dict[str, tuple[Callable[..., Any], tuple[tuple[tuple[int, ...], str], ...]]] = {
    "a transpose": (lambda x: x.T, (((16, 12), "float32"),)),
    "a transpose between operations": (lambda x: (-x).T * 2 + x.sum(), (((16, 12), "float32"),)),
    "a transpose of three dimensions": (lambda x: jnp.exp(x).transpose(2, 0, 1), (((4, 5, 6), "float32"),)),
    "transposed integers": (lambda x: (x + 1).T, (((16, 12), "int32"),)),
    "transposed booleans": (lambda x: (x > 0).T, (((16, 12), "float32"),)),
    "transposed complex numbers": (lambda x: jnp.fft.fft(x).T * 2j, (((16, 12), "float32"),)),
    "a transposed product": (lambda x, y: (x @ y).T @ x, (((16, 12), "float32"), ((12, 8), "float32"))),
    "a gradient in bfloat16": (
        lambda v, w, x: jax.grad(loss)((v, w), x),
        (((16, 12), "bfloat16"), ((12, 8), "bfloat16"), ((32, 16), "bfloat16")),
    ),
}


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator() as process:
        yield process


def compare(evaluator: Evaluator, function: Callable[..., Any], examples: tuple[Any, ...]) -> None:
    """Compare the results of the executable with those of the module after all passes, and before them."""
    rng = np.random.default_rng(0)

    def draw(leaf: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - an example
        kind = np.dtype(leaf.dtype)
        is_float, most = jnp.issubdtype(kind, jnp.floating), 2 if kind.kind == "b" else 8
        values = rng.standard_normal(leaf.shape) if is_float else rng.integers(0, most, leaf.shape)
        return np.asarray(values).astype(kind)

    arguments = jax.tree.map(draw, examples)
    expected = [np.asarray(result) for result in jax.tree.leaves(jax.jit(function)(*arguments))]
    program = capture(function, *examples, target="cpu")
    values = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    assert len(values) == len(program.module.entry.parameters)
    inputs = [[value] for value in values]
    last = [shards[0] for shards in evaluator.run(program.module, inputs, is_cpu=True)]
    assert [one.tobytes() for one in last] == [one.tobytes() for one in expected]
    first = [shards[0] for shards in evaluator.run(program.unoptimized_module, inputs)]
    for one, other in zip(first, expected, strict=True):
        actual, reference = one.astype(np.complex128), other.astype(np.complex128)
        tolerance = 0.05 if one.dtype == jnp.bfloat16 else 1e-4
        np.testing.assert_allclose(
            actual, reference, rtol=tolerance, atol=tolerance * max(1.0, np.abs(reference).max())
        )


@pytest.mark.parametrize("name", _GALLERY)
def test_a_program_of_the_gallery_gives_the_executables_bits(evaluator: Evaluator, name: str) -> None:
    compare(evaluator, PROGRAMS[name].function, PROGRAMS[name].example)


@pytest.mark.parametrize("name", _TRANSPOSED)
def test_a_program_with_a_transpose_gives_the_executables_bits(evaluator: Evaluator, name: str) -> None:
    function, shapes = _TRANSPOSED[name]
    compare(evaluator, function, tuple(jax.ShapeDtypeStruct(shape, np.dtype(kind)) for shape, kind in shapes))
