"""Convolutions of cuDNN and their gradients compute the same as JAX, for each stride, padding and dilation."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest
from jax import lax

from xla_inspect.errors import InspectError

from .library_modules import make_call, write_shape
from .reference import run

if TYPE_CHECKING:
    from xla_inspect.evaluation import Evaluator

    from .reference import Value

SOURCE = np.random.default_rng(5)
IMAGE = SOURCE.integers(-3, 4, (2, 7, 8, 3)).astype(np.float32)
FILTER = SOURCE.integers(-3, 4, (3, 2, 3, 4)).astype(np.float32)
WINDOWS = {
    "plain": ((1, 1), ((0, 0), (0, 0)), (1, 1)),
    "padded": ((1, 1), ((1, 1), (2, 0)), (1, 1)),
    "strided": ((2, 3), ((0, 0), (0, 0)), (1, 1)),
    "dilated": ((1, 1), ((0, 0), (0, 0)), (2, 3)),
    "all": ((2, 3), ((2, 1), (1, 3)), (2, 3)),
}
LAYOUTS = {"b01f_o01i->b01f": "NHWC", "bf01_oi01->bf01": "NCHW"}


@cache
def compute(kind: str) -> tuple[Any, ...]:
    """Return the result of a convolution, a gradient of it, and those of its input and filter, by JAX."""
    stride, padding, dilation = WINDOWS[kind]

    def convolve(x: jax.Array, w: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(
            x, w, stride, padding, rhs_dilation=dilation, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    result, pull = jax.vjp(convolve, IMAGE, FILTER)
    gradient = SOURCE.integers(-3, 4, result.shape).astype(np.float32)
    return (np.asarray(result), gradient, *map(np.asarray, pull(gradient)))


def call_cudnn(  # noqa: PLR0913 - the fields of the call
    evaluator: Evaluator, kind: str, call: str, labels: str, *arrays: Value, config: Value = None, more: str = ""
) -> Value:
    """Return what a call of cuDNN computes from two arrays, for a result like the third."""
    stride, padding, dilation = WINDOWS[kind]
    fields = {
        "size": "3x2",
        "stride": "x".join(map(str, stride)),
        "pad": "x".join(f"{low}_{high}" for low, high in padding),
        "rhs_dilate": "x".join(map(str, dilation)),
    }
    window = " ".join(
        f"{name}={text}" for name, text in fields.items() if re.search("[^1x]" if name != "pad" else "[1-9]", text)
    )
    *operands, result = arrays
    settings = {"activation_mode": "kNone", "conv_result_scale": 1, "side_input_scale": 0, **(config or {})}
    module = make_call(
        f"__cudnn$conv{call}", operands, f"({write_shape(result)}, u8[0])", {"cudnn_conv_backend_config": settings},
        f", window={{{window}}}, dim_labels={labels}{more}",
    )  # fmt: skip
    [actual] = run(evaluator, module, *operands)
    return actual


def order_image(array: Value, labels: str) -> Value:
    return np.ascontiguousarray(array.transpose(0, 3, 1, 2) if LAYOUTS[labels] == "NCHW" else array)


def order_filter(array: Value, labels: str) -> Value:
    return np.ascontiguousarray(
        array.transpose(3, 2, 0, 1) if LAYOUTS[labels] == "NCHW" else array.transpose(3, 0, 1, 2)
    )


@pytest.mark.parametrize("labels", LAYOUTS)
@pytest.mark.parametrize("kind", WINDOWS)
def test_a_convolution_and_its_gradients_agree_with_jax(kind: str, labels: str, evaluator: Evaluator) -> None:
    forward, gradient, for_input, for_filter = compute(kind)
    image, forward, gradient, for_input = (order_image(one, labels) for one in (IMAGE, forward, gradient, for_input))
    weights, for_filter = order_filter(FILTER, labels), order_filter(for_filter, labels)
    for call, operands, expected in (
        ("Forward", (image, weights), forward),
        ("BackwardInput", (gradient, weights), for_input),
        ("BackwardFilter", (image, gradient), for_filter),
    ):
        actual = call_cudnn(evaluator, kind, call, labels, *operands, expected)
        np.testing.assert_array_equal(actual, expected, err_msg=call)


def test_groups_divide_the_features(evaluator: Evaluator) -> None:
    image = np.concatenate([IMAGE, -IMAGE], 3)
    weights = order_filter(FILTER, "b01f_o01i->b01f")
    expected = np.asarray(
        lax.conv_general_dilated(
            image, FILTER, (1, 1), "VALID", feature_group_count=2, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
    )
    more = ", feature_group_count=2"
    actual = call_cudnn(evaluator, "plain", "Forward", "b01f_o01i->b01f", image, weights, expected, more=more)
    np.testing.assert_array_equal(actual, expected)
    with pytest.raises(InspectError, match=r"call: this convolution of cuDNN, with .* groups, is not known here"):
        call_cudnn(evaluator, "plain", "BackwardInput", "b01f_o01i->b01f", expected, weights, image, more=more)


@pytest.mark.parametrize("config", [{"activation_mode": "kRelu"}, {"conv_result_scale": 0.5}])
def test_a_convolution_with_an_activation_or_a_scale_is_rejected(config: Value, evaluator: Evaluator) -> None:
    weights = order_filter(FILTER, "b01f_o01i->b01f")
    forward = compute("plain")[0]
    with pytest.raises(InspectError, match="call: this convolution of cuDNN"):
        call_cudnn(evaluator, "plain", "Forward", "b01f_o01i->b01f", IMAGE, weights, forward, config=config)
