"""Source lines of operations, from the locations that MLIR prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture
from xla_inspect.analysis.op_lines import (
    Operation,
    find_expression,
    find_instructions,
    find_launch,
    find_line,
    read_operations,
)
from xla_inspect.hlo import Frame

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

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
    """The capture of relu(x @ w + b) on the CPU."""
    from programs.layer import EXAMPLE
    from programs.layer import layer as function

    return capture(function, *EXAMPLE)


def test_an_operation_names_the_innermost_python_expression_which_may_span_lines_or_be_unknown() -> None:
    assert read_operations(LOCATED) == [
        Operation("stablehlo.sine", "jit(f)/sin", Frame("a.py", "helper", 3, 9, 3, 15)),
        Operation("stablehlo.custom_call", "jit(f)/call", Frame("a.py", "f", 9, 1, 11, 5)),
        Operation("stablehlo.cosine", "", None),
    ]


def test_each_operation_of_a_line_leads_back_to_its_own_text(layer: Capture) -> None:
    line = find_line(layer, "return jax")
    expressions = {
        operation.op_name: find_expression(layer, operation)
        for operation in read_operations(layer.stablehlo_locations)
        if operation.frame and operation.frame.line == line
    }
    assert expressions == {
        "jit(layer)/dot_general": "x @ w",
        "jit(layer)/broadcast_in_dim": "x @ w + b",
        "jit(layer)/add": "x @ w + b",
        "jit(layer)/jit(relu)": "jax.nn.relu(x @ w + b)",
    }


def test_an_operation_finds_its_instructions_inside_fusions(layer: Capture) -> None:
    product = next(o for o in read_operations(layer.stablehlo_locations) if o.op_name == "jit(layer)/dot_general")
    outer = [i for i in find_instructions(layer, layer.module, product) if not i.called]
    launches = [find_launch(layer.module, instruction) for instruction in outer]
    assert [instruction.opcode for instruction in outer] == ["dot"]
    assert [launch and launch.name for launch in launches] == ["ynn_fusion"]


def test_operations_with_one_name_on_several_lines_are_separate() -> None:
    from programs.transformer_block import EXAMPLE, transformer_block

    block = capture(transformer_block, *EXAMPLE)
    subtractions = [o for o in read_operations(block.stablehlo_locations) if o.op_name == "jit(transformer_block)/sub"]
    lines = {o.frame.line: o for o in subtractions if o.frame}
    found_by_line = {line: find_instructions(block, block.unoptimized_module, o) for line, o in lines.items()}
    assert sorted(lines) == sorted({find_line(block, "return (x - mean)"), find_line(block, "softmax(scores)")})
    assert not set.intersection(*({i.name for i in instructions} for instructions in found_by_line.values()))
    assert all(found_by_line.values())


def test_the_computation_of_a_reduction_is_not_a_launch() -> None:
    from programs.softmax import EXAMPLE, softmax

    module = capture(softmax, *EXAMPLE).unoptimized_module
    applied = [i for c in module.computations if not c.is_entry for i in c if i.opcode in {"maximum", "add"}]
    assert applied
    assert [find_launch(module, instruction) for instruction in applied] == [None] * len(applied)


def test_a_line_that_is_not_there_is_an_error_that_names_the_file(layer: Capture) -> None:
    with pytest.raises(ValueError, match=r"no line of snippets/programs/layer.py contains 'nowhere'"):
        find_line(layer, "nowhere")
