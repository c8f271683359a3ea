"""Matrix units round the float32 factors of products to TF32 or bfloat16, unless the program asks for more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from xla_inspect.evaluation import FACTOR_BITS
from xla_inspect.hlo import Module, parse_module

if TYPE_CHECKING:
    from typing import Any

    from xla_inspect.evaluation import Evaluator

ONE_LOST_BIT = 1 + 2.0**-11
"""A number between two neighbours in TF32, 1 and 1 + 2**-10, of which the latter is farther from 0."""


def make_dot(attributes: str = "", kind: str = "kCustom") -> Module:
    """Return a module with a fusion that multiplies a row by a unit matrix of one element."""
    return parse_module(f"""HloModule m
%inside (a: f32[7,1], b: f32[1,1]) -> f32[7,1] {{
  %a = f32[7,1]{{1,0}} parameter(0)
  %b = f32[1,1]{{1,0}} parameter(1)
  ROOT %c = f32[7,1]{{1,0}} dot(%a, %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{attributes}
}}
ENTRY %main (x: f32[7,1], y: f32[1,1]) -> f32[7,1] {{
  %x = f32[7,1]{{1,0}} parameter(0)
  %y = f32[1,1]{{1,0}} parameter(1)
  ROOT %z = f32[7,1]{{1,0}} fusion(%x, %y), kind={kind}, calls=%inside
}}
""")


def make_matmul(precision: str, algorithm: str = "ALG_UNSET") -> Module:
    """Return a module with the same product as a call of cuBLAS."""
    config: dict[str, Any] = {
        "gemm_backend_config": {
            "alpha_real": 1,
            "beta": 0,
            "dot_dimension_numbers": {"lhs_contracting_dimensions": ["1"], "rhs_contracting_dimensions": ["0"]},
            "precision_config": {"operand_precision": [precision, precision], "algorithm": algorithm},
        }
    }
    return parse_module(f"""HloModule m
ENTRY %main (x: f32[7,1], y: f32[1,1]) -> f32[7,1] {{
  %x = f32[7,1]{{1,0}} parameter(0)
  %y = f32[1,1]{{1,0}} parameter(1)
  ROOT %z = f32[7,1]{{1,0}} custom-call(%x, %y), custom_call_target="__cublas$gemm", backend_config={json.dumps(config)}
}}
""")


def multiply(evaluator: Evaluator, module: Module, target: str) -> list[float]:
    """Return the products of seven numbers with 1 as the matrix units of a target compute them."""
    # The bits of this NaN become those of a zero if they are rounded as a number.
    nan = np.array(0x7FFFFFFF, np.uint32).view(np.float32)
    x = np.float32([ONE_LOST_BIT, -ONE_LOST_BIT, 1 + 3 * 2.0**-9, -0.0, np.inf, -np.inf, nan])[:, None]
    [[actual]] = evaluator.run(module, [[x], [np.ones((1, 1), np.float32)]], factor_bits=FACTOR_BITS[target])
    return [float(value) for value in actual.ravel()]


SPECIAL = [0.0, np.inf, -np.inf, np.nan]
EXACT = [ONE_LOST_BIT, -ONE_LOST_BIT, 1 + 3 * 2.0**-9, *SPECIAL]
TF32 = [1 + 2.0**-10, -1 - 2.0**-10, 1 + 3 * 2.0**-9, *SPECIAL]
BFLOAT16 = [1.0, -1.0, 1 + 2.0**-7, *SPECIAL]


@pytest.mark.parametrize(
    ("target", "attributes", "expected"),
    [
        ("cuda", "", TF32),
        ("cuda", ", operand_precision={high,high}", TF32),
        ("cuda", ", operand_precision={highest,highest}", EXACT),
        ("cuda", ", algorithm=dot_f32_f32_f32", EXACT),
        ("tpu", "", BFLOAT16),
        ("tpu", ", operand_precision={high,high}", EXACT),
        ("tpu", ", operand_precision={highest,highest}", EXACT),
    ],
)
def test_a_dot_rounds_its_factors_unless_its_precision_is_higher(
    evaluator: Evaluator, target: str, attributes: str, expected: list[float]
) -> None:
    np.testing.assert_array_equal(multiply(evaluator, make_dot(attributes), target), expected)


@pytest.mark.parametrize(
    ("precision", "algorithm", "expected"),
    [
        ("DEFAULT", "ALG_UNSET", TF32),
        ("HIGHEST", "ALG_UNSET", EXACT),
        ("DEFAULT", "ALG_DOT_F32_F32_F32", EXACT),
    ],
)
def test_a_matmul_of_cublas_rounds_its_factors_as_its_configuration_says(
    evaluator: Evaluator, precision: str, algorithm: str, expected: list[float]
) -> None:
    np.testing.assert_array_equal(multiply(evaluator, make_matmul(precision, algorithm), "cuda"), expected)


def test_a_dot_in_a_loop_fusion_of_a_gpu_keeps_float32(evaluator: Evaluator) -> None:
    np.testing.assert_array_equal(multiply(evaluator, make_dot(kind="kLoop"), "cuda"), EXACT)


@pytest.mark.parametrize("target", ["cuda", "tpu"])
@pytest.mark.parametrize(("name", "kind"), [("f16", np.float16), ("f64", np.float64), ("s32", np.int32)])
def test_factors_of_another_type_stay(evaluator: Evaluator, name: str, kind: type, target: str) -> None:
    text = f"""HloModule m
ENTRY %main (x: {name}[2,1], y: {name}[1,1]) -> {name}[2,1] {{
  %x = {name}[2,1]{{1,0}} parameter(0)
  %y = {name}[1,1]{{1,0}} parameter(1)
  ROOT %z = {name}[2,1]{{1,0}} dot(%x, %y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""
    x = np.array([[1025], [2047]]).astype(kind)
    inputs = [[x], [np.ones((1, 1), kind)]]
    [[actual]] = evaluator.run(parse_module(text), inputs, factor_bits=FACTOR_BITS[target])
    assert actual.dtype == kind
    np.testing.assert_array_equal(actual, x)
