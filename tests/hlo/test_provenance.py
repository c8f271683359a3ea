"""Where operations come from, read from the locations that MLIR prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture
from xla_inspect.hlo.frame import Frame
from xla_inspect.hlo.provenance import find_expression, find_instructions, find_line, read_operations

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Capture

LOCATED = """
module @jit_f {
  func.func public @main(%arg0: tensor<4xf32> loc("x")) -> tensor<4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<4xf32> loc(#loc7)
    %1:2 = "stablehlo.custom_call"(%0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc(#loc8)
    %2 = stablehlo.cosine %1#0 : tensor<4xf32> loc(#loc)
    return %2 : tensor<4xf32> loc(#loc7)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("a.py":3:8 to :14)
#loc3 = loc("a.py":9:0 to 11:4)
#loc4 = loc("helper"(#loc2))
#loc5 = loc("f"(#loc3))
#loc6 = loc(callsite(#loc4 at #loc5))
#loc7 = loc("jit(f)/sin"(#loc6))
#loc8 = loc("jit(f)/call"(#loc5))
"""


@pytest.fixture(scope="module")
def layer() -> Capture:
    """relu(x @ w + b) on the CPU."""
    from programs.layer import EXAMPLE
    from programs.layer import layer as function

    return capture(function, *EXAMPLE)


def test_an_operation_names_the_innermost_python_expression() -> None:
    operations = read_operations(LOCATED)
    assert [(operation.name, operation.op_name) for operation in operations] == [
        ("stablehlo.sine", "jit(f)/sin"),
        ("stablehlo.custom_call", "jit(f)/call"),
        ("stablehlo.cosine", ""),
    ]
    assert operations[0].frame == Frame("a.py", "helper", 3, 9, 3, 15)


def test_an_expression_may_span_lines() -> None:
    assert read_operations(LOCATED)[1].frame == Frame("a.py", "f", 9, 1, 11, 5)


def test_an_operation_without_a_place_has_no_frame() -> None:
    assert read_operations(LOCATED)[2].frame is None


def test_each_operation_of_a_line_leads_back_to_its_own_text(layer: Capture) -> None:
    line = find_line(layer, "return jax")
    found = {
        operation.op_name: find_expression(layer, operation.frame)
        for operation in read_operations(layer.stablehlo_locations)
        if operation.frame and operation.frame.line == line
    }
    assert found == {
        "jit(layer)/dot_general": "x @ w",
        "jit(layer)/broadcast_in_dim": "x @ w + b",
        "jit(layer)/add": "x @ w + b",
        "jit(layer)/jit(relu)": "jax.nn.relu(x @ w + b)",
    }


def test_the_name_of_an_operation_finds_its_instructions_inside_fusions(layer: Capture) -> None:
    found = find_instructions(layer.module, "jit(layer)/dot_general")
    assert [instruction.opcode for instruction in found if not instruction.called] == ["dot"]
    assert find_instructions(layer.module, "jit(layer)/dot") == []


def test_a_line_that_is_not_there_is_an_error_that_names_the_file(layer: Capture) -> None:
    with pytest.raises(ValueError, match=r"no line of snippets/programs/layer.py contains 'nowhere'"):
        find_line(layer, "nowhere")
