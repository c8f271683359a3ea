"""Operations on whole arrays give the results that StableHLO's specification defines, also at the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from .reference import Case, check

if TYPE_CHECKING:
    from xla_inspect.evaluation import Evaluator

    from .reference import Value

SOURCE = np.random.default_rng(0)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
UNSORTED = np.float32([3, np.nan, -0.0, 0, -np.inf, 1, np.nan, 1, -1])
SMALL = np.int32([[1, -2, 3], [4, 5, -6]])
IMAGE = SOURCE.integers(-4, 5, (2, 6, 7, 4)).astype(np.float32)
FILTER = SOURCE.integers(-4, 5, (3, 2, 2, 6)).astype(np.float32)
ROWS = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
WINDOWS = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
PLACES = lax.ScatterDimensionNumbers((1,), (0,), (0,))
RAW = lax.GatherScatterMode.PROMISE_IN_BOUNDS
"""The mode in which JAX adds no operation of its own for indices out of bounds."""
# With small integers and powers of two, each step of the factorization and of the solution is exact.
TRIANGLE = np.float32([[2, 0, 0], [-3, 4, 0], [1, 5, 1]])
SOLUTION = np.float32([[1, -2], [3, 0.5], [-4, 8]])

SLICE = """
func.func @main(%x: tensor<3x4xf32>, %i: tensor<i32>, %j: tensor<i32>, %u: tensor<2x2xf32>)
    -> (tensor<2x2xf32>, tensor<3x4xf32>) {
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2]
    : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %i, %j
    : (tensor<3x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<3x4xf32>
}"""
BRANCHES = """
func.func @main(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<f32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.negate %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""
SCATTERED = """
func.func @main(%x: tensor<4x3xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = false, unique_indices = false
  } : (tensor<4x3xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}"""
REDUCED = """
func.func @main(%x: tensor<4x6xi32>, %z: tensor<i32>) -> tensor<3x3xi32> {
  %0 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) {
    window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 3>, base_dilations = array<i64: 1, 2>,
    window_dilations = array<i64: 2, 1>, padding = dense<[[2, 1], [-1, 0]]> : tensor<2x2xi64>
  } : (tensor<4x6xi32>, tensor<i32>) -> tensor<3x3xi32>
  return %0 : tensor<3x3xi32>
}"""
SELECTED = """
func.func @main(%x: tensor<4x4xf32>, %s: tensor<2x2xf32>, %z: tensor<f32>) -> tensor<4x4xf32> {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {
    window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>,
    padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
  } : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"""
TIES = np.float32([[1, 5, 5, 2], [5, 0, 3, 3], [2, 2, 2, 2], [7, -1, 7, -1]])


def count_up(x: jax.Array) -> Value:
    """Add 1, 2, 4 and so on to the smaller values, with a loop in a loop."""

    def inner(state: Value) -> Value:
        step, y = state
        return 2 * step, jnp.where(y < 9, y + step, y)

    return lax.fori_loop(0, 3, lambda _, y: lax.while_loop(lambda state: state[0] < 9, inner, (1, y))[1], x)


def convolve(x: Value, w: Value, **options: Value) -> Value:
    return lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def multiply_halves(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.dot(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16), preferred_element_type=jnp.float32)


def reflect(x: Value, y: Value) -> Value:
    result = jnp.fft.fft(lax.complex(x, y))
    return result.real, result.imag


def transform(x: Value, y: Value) -> Value:
    result = np.fft.fft(x + 1j * y)
    return result.real.astype(np.float32), result.imag.astype(np.float32)


def generate(key: Value) -> Value:
    return lax.rng_bit_generator(key, (5,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)


CASES = [
    *(
        Case(f"slice_at_{row}_{column}", SLICE, (MATRIX, np.int32(row), np.int32(column), -MATRIX[:2, :2].copy()))
        for row, column in ((1, 1), (5, -3), (-1, 3))
    ),
    *(Case(f"branch_{index}", BRANCHES, (np.int32(index), np.float32(3))) for index in (-1, 0, 1, 2, 3, 99)),
    Case("gathered_rows", lambda x, i: lax.gather(x, i, ROWS, (1, 4), mode=RAW), (MATRIX, np.int32([[-2], [1], [99]]))),
    Case("gathered_windows", lambda x, i: lax.gather(x, i, WINDOWS, (2, 3), mode=RAW),
         (MATRIX, np.int32([[0, 1], [2, 3]]))),
    Case("filled_rows", lambda x, i: x.at[i].get(mode="fill", fill_value=-5), (MATRIX, np.int32([0, -1, 3, 7]))),
    Case("scattered_rows", SCATTERED,
         (np.zeros((4, 3), np.float32), np.int32([[3], [-1], [4]]), np.ones((3, 2), np.float32))),
    Case(
        "added_rows",
        lambda x, i, u: lax.scatter_add(x, i, u, PLACES, mode=RAW),
        (MATRIX, np.int32([[1], [1], [-1], [2]]), np.ones((4, 4), np.float32)),
    ),
    Case("reduced_windows", REDUCED, (np.arange(24, dtype=np.int32).reshape(4, 6), np.int32(0))),
    Case("selected_and_scattered", SELECTED, (TIES, np.float32([[1, 2], [4, 8]]), np.float32(0))),
    Case("sorted", lambda x: lax.sort((x, lax.iota(jnp.int32, 9)), num_keys=1), (UNSORTED,),
         expected=lambda x: (np.sort(x, stable=True), np.argsort(x, stable=True).astype(np.int32))),
    Case("sorted_downwards", lambda x: -lax.sort(-x, is_stable=True), (SMALL,)),
    Case("numbers_of_places", lambda x: lax.broadcasted_iota(jnp.int32, (2, 3), 1) + x, (SMALL,)),
    Case("reversed", lambda x: lax.rev(x, (0, 1)), (SMALL,)),
    Case("padded", lambda x: lax.pad(x, np.int32(9), ((-1, 2, 0), (1, -1, 1))), (SMALL,)),
    Case("transposed", lambda x: lax.transpose(x, (2, 0, 3, 1)), (IMAGE,)),
    Case("strided", lambda x: lax.slice(x, (0, 1, 1, 0), (2, 6, 6, 4), (1, 2, 3, 2)), (IMAGE,)),
    Case("concatenated", lambda x: lax.concatenate([x, x[:, :1], x * 2], 1), (SMALL,)),
    Case("loop", count_up, (SMALL,)),
    Case("reduced_to_the_maximum", lambda x: lax.reduce_max(x, (0,)), (np.float32([[1, np.nan], [np.inf, 2]]),)),
    Case("reduced_to_nothing", lambda x: lax.reduce_sum(x, (0,)), (np.zeros((0, 3), np.float32),)),
    Case("reduced_in_parts", lambda x: lax.reduce((x, -x), (np.int32(0), np.int32(1)),
        lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)), (SMALL,)),
    Case("running_sum", lambda x: lax.cumsum(x, 1, reverse=True), (SMALL,)),
    Case("product_of_batches", lambda x, y: lax.dot_general(x, y, (((3, 1), (2, 3)), ((0,), (0,)))),
         (IMAGE, IMAGE.transpose(0, 2, 3, 1).copy())),
    Case("product_of_integers", lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))), (SMALL * 10**9, SMALL)),
    Case("product_of_halves", multiply_halves, (MATRIX, MATRIX.T.copy())),
    Case("dilated_convolution", lambda x, w: convolve(
        x, w, window_strides=(2, 1), padding=((1, 2), (0, 3)), lhs_dilation=(1, 2), rhs_dilation=(2, 1),
        feature_group_count=2), (IMAGE, FILTER)),
    Case("grouped_convolution", lambda x, w: convolve(
        x, w, window_strides=(1, 1), padding=((-1, 0), (0, 1)), batch_group_count=2),
         (IMAGE, SOURCE.integers(-4, 5, (3, 2, 4, 6)).astype(np.float32))),
    Case("fourier_transform", reflect, (MATRIX[0], -MATRIX[1]), 4, expected=transform),
    Case("cholesky", lax.linalg.cholesky, (TRIANGLE @ TRIANGLE.T,), expected=lambda _: TRIANGLE),
    Case("triangular_solution", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
         (TRIANGLE, TRIANGLE @ SOLUTION), expected=lambda *_: SOLUTION),
    Case("largest", lambda x: lax.top_k(x, 3), (TIES,),
         expected=lambda x: (-np.sort(-x)[:, :3], np.argsort(-x, kind="stable")[:, :3].astype(np.int32))),
    Case("random_bits", generate, (np.uint32([1, 2, 3, 4]),), expected=jax.jit(generate)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_operation_on_arrays_gives_its_defined_result(case: Case, evaluator: Evaluator) -> None:
    check(case, evaluator)
