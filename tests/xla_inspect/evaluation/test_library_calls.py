"""Custom calls of cuBLAS, cuSOLVER and TPU libraries compute the same as NumPy, and other calls are named."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from xla_inspect import capture
from xla_inspect.evaluation.plain_lines import UnknownOperationError
from xla_inspect.hlo import parse_module

from .library_modules import make_call
from .reference import run

if TYPE_CHECKING:
    from xla_inspect.evaluation import Evaluator

    from .reference import Value

SOURCE = np.random.default_rng(3)
# Products of small integers are exact, so each comparison is one of bits.
X, Y = (SOURCE.integers(-4, 5, shape).astype(np.float32) for shape in ((3, 4), (4, 5)))
ADDED, BIAS = (SOURCE.integers(-4, 5, shape).astype(np.float32) for shape in ((3, 5), (5,)))
TRIANGLE = np.float32([[2, 7, 7], [-3, 4, 7], [1, 5, 1]])
SOLUTION = np.float32([[1, -2], [3, 0.5], [-4, 8]])
PLAIN = {"lhs_contracting_dimensions": ["1"], "rhs_contracting_dimensions": ["0"]}


def multiply(
    evaluator: Evaluator,
    *arguments: Value,
    shape: str = "f32[3,5]",
    numbers: Value = PLAIN,
    target: str = "lt$matmul",
    **config: Value,
) -> np.ndarray:
    """Return what a call of cuBLAS computes."""
    settings = {"alpha_real": 1, "alpha_imag": 0, "beta": 0, "epilogue": "DEFAULT", "dot_dimension_numbers": numbers}
    call = make_call(
        f"__cublas${target}", arguments, f"({shape}, s8[16])", {"gemm_backend_config": {**settings, **config}}
    )
    [result] = run(evaluator, call, *arguments)
    return result


def test_a_matmul_multiplies_two_matrices(evaluator: Evaluator) -> None:
    np.testing.assert_array_equal(multiply(evaluator, X, Y), X @ Y)


def test_a_matmul_is_scaled_before_a_scaled_matrix_is_added(evaluator: Evaluator) -> None:
    actual = multiply(evaluator, X, Y, ADDED, alpha_real=0.5, beta=3, target="gemm")
    np.testing.assert_array_equal(actual, 0.5 * (X @ Y) + 3 * ADDED)


def test_the_bias_is_added_to_each_row_before_the_activation(evaluator: Evaluator) -> None:
    np.testing.assert_array_equal(multiply(evaluator, X, Y, BIAS, epilogue="BIAS"), X @ Y + BIAS)
    actual = multiply(evaluator, X, Y, ADDED, BIAS, beta=1, epilogue="BIAS_RELU")
    np.testing.assert_array_equal(actual, np.maximum(X @ Y + ADDED + BIAS, 0))
    np.testing.assert_array_equal(multiply(evaluator, X, Y, epilogue="RELU"), np.maximum(X @ Y, 0))


def test_batches_are_multiplied_one_by_one(evaluator: Evaluator) -> None:
    x, y = (SOURCE.integers(-4, 5, shape).astype(np.float32) for shape in ((2, 4, 3), (2, 5, 4)))
    numbers = {
        "lhs_batch_dimensions": ["0"], "rhs_batch_dimensions": ["0"],
        "lhs_contracting_dimensions": ["1"], "rhs_contracting_dimensions": ["2"],
    }  # fmt: skip
    actual = multiply(evaluator, x, y, shape="f32[2,3,5]", numbers=numbers)
    np.testing.assert_array_equal(actual, np.einsum("bji,bkj->bik", x, y))


def test_products_of_small_types_are_rounded_once(evaluator: Evaluator) -> None:
    x, y = np.float32([[256, 1, 1]]).astype(jnp.bfloat16), np.ones((3, 1), jnp.bfloat16)
    actual = multiply(evaluator, x, y, shape="bf16[1,1]")
    # Rounded after each addition, the sum would remain 256.
    assert actual == np.float32([[258]])


@pytest.mark.parametrize("epilogue", ["GELU", "BIAS_SILU"])
def test_a_matmul_with_another_activation_is_rejected_by_name(epilogue: str, evaluator: Evaluator) -> None:
    with pytest.raises(UnknownOperationError, match=f"call: .*{epilogue}"):
        multiply(evaluator, X, Y, epilogue=epilogue)


VARIANTS = [*itertools.product((True, False), (True, False), (True, False), ("NO_TRANSPOSE", "TRANSPOSE"))]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_triangular_system_is_solved(variant: tuple[bool, bool, bool, str], evaluator: Evaluator) -> None:
    is_left, lower, unit, transposed = variant
    matrix = np.tril(TRIANGLE) if lower else np.triu(TRIANGLE)
    if unit:
        np.fill_diagonal(matrix, 1)
    if transposed == "TRANSPOSE":
        matrix = matrix.T
    right = matrix @ SOLUTION if is_left else SOLUTION.T @ matrix
    config = {"left_side": is_left, "lower": lower, "unit_diagonal": unit, "transpose_a": transposed}
    shape = "f32[3,2]" if is_left else "f32[2,3]"
    call = make_call("__cublas$triangularSolve", [TRIANGLE, right], f"({shape}, s8[16])", config)
    [actual] = run(evaluator, call, TRIANGLE, np.ascontiguousarray(right))
    np.testing.assert_allclose(actual, SOLUTION if is_left else SOLUTION.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lower", [True, False])
def test_a_factorization_of_cusolver_reads_one_triangle(lower: bool, evaluator: Evaluator) -> None:  # noqa: FBT001 - a field of the call
    factor = np.tril(TRIANGLE)
    square = factor @ factor.T
    # The other triangle is not read.
    triangle = np.tril(square) if lower else np.triu(square)
    call = make_call("cusolver_potrf_ffi", [triangle], "(f32[3,3], s32[])", f"{{lower = {str(lower).lower()}}}")
    [actual] = run(evaluator, call, triangle)
    cut = np.tril if lower else np.triu
    np.testing.assert_array_equal(cut(actual), factor if lower else factor.T)


def test_blocks_of_lower_triangles_are_inverted(evaluator: Evaluator) -> None:
    blocks = np.stack([np.tril(TRIANGLE), np.float32([[1, 0, 0], [2, 1, 0], [3, 4, 0.5]])])
    [actual] = run(evaluator, make_call("InvertDiagBlocksLowerTriangular", [blocks], "f32[2,3,3]"), blocks)
    np.testing.assert_allclose(actual, np.linalg.inv(blocks), rtol=1e-6, atol=1e-6)


def test_parts_that_lie_one_after_another_are_concatenated(evaluator: Evaluator) -> None:
    [actual] = run(evaluator, make_call("ConcatBitcast", [X, 2 * X], "f32[3,8]"), X, 2 * X)
    np.testing.assert_array_equal(actual, np.concatenate([X, 2 * X], 1))


def test_parts_that_divide_two_dimensions_are_rejected(evaluator: Evaluator) -> None:
    with pytest.raises(UnknownOperationError, match="differ from the whole in two dimensions"):
        run(evaluator, make_call("ConcatBitcast", [X, X], "f32[6,8]"), X, X)


def test_a_new_buffer_has_zeros(evaluator: Evaluator) -> None:
    [actual] = run(evaluator, make_call("AllocateBuffer", [], "f32[2,3]"))
    np.testing.assert_array_equal(actual, np.zeros((2, 3), np.float32))


def test_a_move_to_another_memory_keeps_the_values(evaluator: Evaluator) -> None:
    [actual] = run(evaluator, make_call("MoveToHost", [X], "f32[3,4]"), X)
    np.testing.assert_array_equal(actual, X)


def test_an_unknown_call_is_named(evaluator: Evaluator) -> None:
    with pytest.raises(UnknownOperationError, match="call: the custom call `my_kernel` is not known here"):
        run(evaluator, make_call("my_kernel", [X], "f32[3,4]"), X)


def factorize(x: jax.Array) -> Value:
    q, r = jnp.linalg.qr(jnp.sin(x) + 2 * jnp.eye(3))
    lower = lax.linalg.cholesky(x @ x.T + 9 * jnp.eye(3))
    return q, r, lax.linalg.triangular_solve(lower, x, left_side=True, lower=True, transpose_a=True)


@pytest.mark.parametrize("stage", ["before", "after"])
def test_the_cpu_runs_its_own_factorizations(stage: str, evaluator: Evaluator) -> None:
    module = parse_module(getattr(capture(factorize, TRIANGLE, passes=False), stage))
    results = evaluator.run(module, [[TRIANGLE]], is_cpu=True)
    for (actual,), expected in zip(results, jax.jit(factorize)(TRIANGLE), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
