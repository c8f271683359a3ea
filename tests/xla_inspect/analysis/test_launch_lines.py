"""A launch is traced back to the Python expressions that it computes."""

from __future__ import annotations

import pytest

from programs import attention, layer
from xla_inspect import capture
from xla_inspect.analysis.launch_lines import LaunchOrigin, list_origins
from xla_inspect.analysis.launches import list_launches
from xla_inspect.analysis.op_lines import find_line


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_every_line_of_the_program_is_found_in_some_launch(target: str) -> None:
    program = capture(attention.attention, *attention.EXAMPLE, target=target)
    origins = [origin for launch in list_launches(program) for origin in list_origins(program, launch.instruction)]
    body = {find_line(program, text) for text in ("x @ wq", "q, k)", "softmax(", "weights, v)", "@ wo")}
    assert {origin.line for origin in origins} - {None} == body
    assert {origin.expression for origin in origins} >= {"x @ wq", "jax.nn.softmax(scores, axis=-1)", "mixed @ wo"}


def test_one_launch_may_hold_several_expressions_of_one_line() -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e")
    copy, fusion = (launch.instruction for launch in list_launches(program))
    assert list_origins(program, fusion) == (
        LaunchOrigin(9, "x @ w", ("convolution",)),
        LaunchOrigin(9, "x @ w + b", ("broadcast", "add")),
        LaunchOrigin(9, "jax.nn.relu(x @ w + b)", ("broadcast", "maximum")),
    )
    assert list_origins(program, copy) == (LaunchOrigin(None, "", ("copy-start",)),)
