"""Operations on single elements give the results that StableHLO's specification defines, also at the edges."""

from __future__ import annotations

from functools import partial
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

SPECIAL = np.float32([-0.0, 0, 1, -1, 2.5, -0.75, np.inf, -np.inf, np.nan, 1e30, -2e-6, 1e-3, 17])
LEFT, RIGHT = (side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL))
SUBNORMAL = np.float32([1e-45, -2e-39])
NORMAL = np.linspace(-6, 6, 49, dtype=np.float32)
POSITIVE = np.geomspace(1e-30, 1e30, 49, dtype=np.float32)
LIMIT = np.iinfo(np.int32)
NUMBERS = np.int32([LIMIT.min, LIMIT.min + 1, -7, -2, -1, 0, 1, 3, 7, 65536, LIMIT.max])
FIRST, SECOND = (side.ravel() for side in np.meshgrid(NUMBERS, NUMBERS))
# Exact ties between two numbers of bf16, of f16 and of f8, and numbers beyond the largest.
TIES = np.float32(
    [1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 1.0625, 1.1875, 65519, 65520, 464, 465, 3.4e38]
)
TIES = np.concatenate([TIES, -TIES, SPECIAL])


def round_through(dtype: Value, x: jax.Array) -> jax.Array:
    return x.astype(dtype).astype(jnp.float32)


def split(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return x.real, x.imag


def compute_in(dtype: Value, function: Value, *arguments: jax.Array) -> jax.Array:
    return function(*(argument.astype(dtype) for argument in arguments)).astype(arguments[0].dtype)


def divide(x: Value, y: Value) -> Value:
    """Divide integers as XLA does: by zero to -1 or all bits, and the smallest by -1 to itself."""
    wide, other = x.astype(object), y.astype(object)
    quotients = [
        abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1 for a, b in zip(wide, other, strict=True)
    ]
    return np.array([one % 2 ** (8 * x.itemsize) for one in quotients], f"u{x.itemsize}").view(x.dtype)


def take_remainder(x: Value, y: Value) -> Value:
    """Take the remainder with the sign of the dividend, which is the dividend itself for a divisor of zero."""
    return np.array([int(np.fmod(int(a), int(b))) if b else a for a, b in zip(x, y, strict=True)], x.dtype)


def convert(dtype: Value, x: Value) -> Value:
    """Convert floating-point numbers to integers: those out of range to the nearest limit, and NaN to 0."""
    limits = np.iinfo(dtype)
    return np.array([0 if np.isnan(one) else int(max(limits.min, min(limits.max, np.trunc(one)))) for one in x], dtype)


BINARY = {
    "add": lax.add, "subtract": lax.sub, "multiply": lax.mul, "divide": lax.div, "maximum": lax.max,
    "minimum": lax.min, "remainder": lax.rem,
    "equal": lax.eq, "not_equal": lax.ne, "less": lax.lt, "less_or_equal": lax.le, "greater": lax.gt,
    "greater_or_equal": lax.ge,
}  # fmt: skip
UNARY = {
    "negate": lax.neg, "abs": lax.abs, "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "sqrt": lax.sqrt,
    "is_finite": lax.is_finite, "round": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "round_to_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "clamp": lambda x: lax.clamp(np.float32(-1), x, np.float32(2)),
    "clamp_by_itself": lambda x: lax.clamp(x, lax.full_like(x, 1), x),
}  # fmt: skip
TRANSCENDENTAL = {
    "sine": lax.sin, "cosine": lax.cos, "tangent": lax.tan, "tanh": lax.tanh, "exponential": lax.exp,
    "exponential_minus_one": lax.expm1, "logistic": lax.logistic, "cube_root": lax.cbrt,
}  # fmt: skip
INTEGER = {
    "add": lax.add, "subtract": lax.sub, "multiply": lax.mul, "maximum": lax.max, "minimum": lax.min,
    "and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "less": lax.lt,
    "shift_left": lax.shift_left, "shift_right": lax.shift_right_arithmetic,
    "shift_right_with_zeros": lax.shift_right_logical,
}  # fmt: skip
CASES = [
    *(Case(name, function, (LEFT, RIGHT)) for name, function in BINARY.items()),
    *(Case(name, function, (SPECIAL,)) for name, function in UNARY.items()),
    *(Case(name, function, (np.concatenate([NORMAL, SPECIAL]),), 4) for name, function in TRANSCENDENTAL.items()),
    *(
        Case(name, function, (np.concatenate([POSITIVE, SPECIAL]),), 4)
        for name, function in {"log": lax.log, "log_plus_one": lax.log1p, "reciprocal_root": lax.rsqrt}.items()
    ),
    Case("power", lax.pow, (LEFT, RIGHT), 4),
    Case("atan2", lax.atan2, (LEFT, RIGHT), 4),
    *(Case(f"integer_{name}", function, (FIRST, SECOND)) for name, function in INTEGER.items()),
    *(
        Case(f"{dtype}_{name}", function, (FIRST.astype(dtype), SECOND.astype(dtype)), expected=expected)
        for dtype in ("int8", "int32", "uint32", "int64")
        for name, function, expected in (("divide", lax.div, divide), ("remainder", lax.rem, take_remainder))
    ),
    *(
        Case(f"integer_{name}", function, (NUMBERS,))
        for name, function in {
            "negate": lax.neg, "abs": lax.abs, "sign": lax.sign, "not": lax.bitwise_not,
            "count_bits": lax.population_count, "leading_zeros": lax.clz,
        }.items()
    ),
    *(
        Case(f"float_to_{dtype}", lambda x, dtype=dtype: lax.convert_element_type(x, dtype), (SPECIAL,),
             expected=partial(convert, dtype))
        for dtype in ("int8", "uint8", "int32", "uint32", "int64")
    ),
    Case("integer_to_float", lambda x: x.astype(jnp.float32),
         (np.int32([2**24 + 1, 2**24 + 3, LIMIT.max, LIMIT.min]),)),
    Case("integer_to_smaller_integer", lambda x: x.astype(jnp.int8), (NUMBERS,)),
    Case("integer_to_four_bits", lambda x: x.astype(jnp.int4).astype(jnp.int32), (np.int32([-9, -8, -1, 7, 8, 100]),)),
    Case("double_to_float", lambda x: x.astype(jnp.float32), (np.float64([1 + 2**-24, 1 + 3 * 2**-24, 1e39, 1e-46]),)),
    *(Case(f"rounding_to_{dtype}", partial(round_through, dtype), (TIES,)) for dtype in ("bfloat16", "float16")),
    *(
        Case(f"rounding_to_{dtype}", partial(round_through, dtype), (TIES,),
             expected=lambda x, dtype=dtype: x.astype(jnp.dtype(dtype)).astype(np.float32))
        for dtype in ("float8_e4m3fn", "float8_e5m2")
    ),
    *(
        Case(f"{dtype}_{name}", partial(compute_in, dtype, BINARY[name]), (LEFT, RIGHT))
        for dtype in ("bfloat16", "float16", "float8_e5m2")
        for name in ("add", "multiply", "divide", "maximum")
    ),
    Case("four_bit_sum", partial(compute_in, "int4", lax.add), (np.int32([7, -8, 3]), np.int32([1, -1, 2]))),
    Case("reduced_precision", lambda x: lax.reduce_precision(x, 5, 3), (TIES,)),
    Case("bits_as_another_type", lambda x: lax.bitcast_convert_type(x, jnp.uint32), (np.float32([-0.0, 1, np.inf]),)),
    Case("complex_product", lambda x, y: split(lax.complex(x, y) * lax.complex(y, x)), (NORMAL, -NORMAL[::-1])),
    Case("complex_exponential", lambda x, y: split(jnp.exp(lax.complex(x, y))), (NORMAL, NORMAL[::-1] / 4), 8),
    # XLA's CPU client treats subnormal numbers as zeros of the same sign, unlike the interpreter.
    Case("subnormal_product", lambda x: x * np.float32(3), (SUBNORMAL,),
         expected=lambda x: np.copysign(np.float32(0), x)),
    Case("subnormal_comparison", lambda x: x == 0, (SUBNORMAL,), expected=lambda x: np.ones(x.shape, bool)),
    Case("subnormal_quotient", lambda x: x / np.float32(4), (np.float32([2e-38]),), expected=lambda x: x * 0),
    Case("subnormal_negation", lax.neg, (SUBNORMAL,)),
    Case("subnormal_half", partial(round_through, "float16"), (np.float32([6e-8, -3e-5, 2.9e-8]),)),
    Case("selection", lambda x, y: lax.select(x < y, x, y), (LEFT, RIGHT)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_operation_on_elements_gives_its_defined_result(case: Case, evaluator: Evaluator) -> None:
    check(case, evaluator)
