"""A launch is traced back to the Python expressions that it computes."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from programs import attention, layer
from xla_inspect import capture
from xla_inspect.analysis.instruction_lines import find_lines
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


def sum_layers(w: jax.Array, x: jax.Array) -> jax.Array:
    def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(x @ w), None

    return jax.lax.scan(layer, x, w)[0].sum()  # loops


def test_the_values_that_a_loop_carries_have_the_line_of_the_loop() -> None:
    program = capture(jax.grad(sum_layers), jnp.zeros((4, 64, 64)), jnp.zeros((8, 64)), target="cpu", passes=False)
    numbers = {instruction: line.number for instruction, line in find_lines(program, program.module).items()}
    loops = [instruction for instruction in program.module.walk() if instruction.opcode == "while"]
    bodies = [program.module.computation(loop.called[-1]) for loop in loops]
    code = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(code, 1) if text.endswith("# loops"))
    assert [body.root.opcode for body in bodies] == ["tuple", "tuple"]
    assert [numbers.get(body.root) for body in bodies] == [line, line]
    assert [numbers.get(parameter) for body in bodies for parameter in body.parameters] == [None, None]
