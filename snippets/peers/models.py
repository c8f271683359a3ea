"""The four programs as ONNX, for compilers that read it: as its operators allow, one node to an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from peers import given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import ModelProto, NodeProto

OPSET, IR_VERSION = 17, 9
"""Opset 17 has softmax and layer norm as one operator each, and no gelu, which is spelled out."""

_RESULT = "y"


def build(  # noqa: PLR0913 - the parts of a model
    name: str,
    nodes: Sequence[NodeProto],
    *,
    shapes: Mapping[str, tuple[int | str, ...]],
    result: tuple[int | str, ...],
    constants: Mapping[str, float] | None = None,
    opset: int = OPSET,
) -> ModelProto:
    """Return a model of float32 tensors whose result is called `y`.

    Args:
        name: The graph's name.
        nodes: The operations in order.
        shapes: Parameter to shape; a size may be a name, for any size.
        result: The shape of the result.
        constants: Name to a number that the model holds.
        opset: The version of the operators.
    """
    held: list[TensorProto] = [
        numpy_helper.from_array(np.array(value, np.float32), key) for key, value in (constants or {}).items()
    ]
    graph = helper.make_graph(
        list(nodes),
        name,
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in shapes.items()],
        [helper.make_tensor_value_info(_RESULT, TensorProto.FLOAT, result)],
        initializer=held,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)
    checker.check_model(model, full_check=True)
    return model


def node(operator: str, inputs: str, result: str, **attributes: float) -> NodeProto:
    """Return one operation; its inputs are names with blanks between them."""
    return helper.make_node(operator, inputs.split(), [result], name=f"{operator} {result}", **attributes)


def gelu_nodes(x: str, result: str) -> list[NodeProto]:
    """Return x / 2 * (1 + erf(x / sqrt 2)); the model must hold `root`, `one` and `half`."""
    return [
        node("Div", f"{x} root", f"{x}_scaled"),
        node("Erf", f"{x}_scaled", f"{x}_erf"),
        node("Add", f"{x}_erf one", f"{x}_shifted"),
        node("Mul", f"{x} {x}_shifted", f"{x}_product"),
        node("Mul", f"{x}_product half", result),
    ]


GELU = {"root": 2**0.5, "one": 1.0, "half": 0.5}
"""The constants of `gelu_nodes`."""


def layer() -> ModelProto:
    """Return relu(x @ w + b)."""
    nodes = [node("MatMul", "x w", "product"), node("Add", "product b", "sum"), node("Relu", "sum", _RESULT)]
    return build("layer", nodes, shapes=given.SHAPES["layer"], result=(64, 256))


def gelu() -> ModelProto:
    """Return the exact gelu of x."""
    return build("gelu", gelu_nodes("x", _RESULT), shapes=given.SHAPES["gelu"], result=(4, 8), constants=GELU)


def classify() -> ModelProto:
    """Return softmax(x @ w)."""
    nodes = [node("MatMul", "x w", "product"), node("Softmax", "product", _RESULT, axis=-1)]
    return build("classify", nodes, shapes=given.SHAPES["classify"], result=(64, 256))


def mlp_block() -> ModelProto:
    """Return x plus two dense layers of its layer norm, with a gelu between them."""
    nodes = [
        node("LayerNormalization", "x scale shift", "normal", axis=-1, epsilon=given.EPSILON),
        node("MatMul", "normal w1", "product1"),
        node("Add", "product1 b1", "sum1"),
        *gelu_nodes("sum1", "hidden"),
        node("MatMul", "hidden w2", "product2"),
        node("Add", "product2 b2", "sum2"),
        node("Add", "x sum2", _RESULT),
    ]
    return build("mlp_block", nodes, shapes=given.SHAPES["mlp_block"], result=(64, 128), constants=GELU)


PROGRAMS = {"layer": layer, "gelu": gelu, "classify": classify, "mlp_block": mlp_block}
"""Program to what makes its model."""
