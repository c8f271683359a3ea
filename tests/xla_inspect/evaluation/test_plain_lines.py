"""Modules that keep the fusions of the CPU's compiler read each array in its own memory order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from xla_inspect import capture
from xla_inspect.evaluation.plain_lines import PlainLines
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.evaluation import Evaluator

    from .reference import Value

SOURCE = np.random.default_rng(11)


def draw(*sizes: int) -> np.ndarray:
    """Return small integers, for which the order of additions does not matter."""
    return SOURCE.integers(-4, 5, sizes).astype(np.float32)


def multiply(x: jax.Array, y: jax.Array) -> Value:
    return jax.nn.relu(x.T @ y + 1) * 2, (x.T.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16)), (x.T > 0).all(0)


def reverse(x: jax.Array, w: jax.Array) -> jax.Array:
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y).transpose(0, 3, 1, 2)[..., ::-1]


def reduce(x: jax.Array) -> Value:
    return x.T.reshape(-1)[::2].reshape(2, -1).cumsum(1), x.T.max(0), x.T.argmax(1)


def scatter(x: jax.Array, i: jax.Array) -> Value:
    return x.at[i].add(1.0).T, x[i].T * 3, jnp.sort(x.T, axis=0)


def scan(x: jax.Array) -> Value:
    return lax.scan(lambda c, row: (c.T @ row.reshape(3, 3) + 1, c.T.sum(0)), jnp.eye(3), x)


def turn(x: jax.Array) -> Value:
    y = (lax.complex(x, 2 * x).T * 2)[::-1]
    return y.real, y.imag


PROGRAMS = [
    (turn, draw(4, 6)),
    (multiply, draw(5, 3), draw(5, 4)),
    (reverse, draw(2, 5, 5, 3), draw(3, 3, 3, 4)),
    (reduce, draw(4, 6)),
    (scatter, draw(5, 4), np.int32([0, 2, 2])),
    (scan, draw(3, 9)),
]


@pytest.mark.parametrize(("program", "arguments"), [(program, arguments) for program, *arguments in PROGRAMS])
def test_the_final_module_of_the_cpu_computes_what_jax_computes(
    program: Callable[..., Any], arguments: list[np.ndarray], evaluator: Evaluator
) -> None:
    module = parse_module(capture(program, *arguments, passes=False).after)
    assert "fusion" in module.opcode_counts()
    expected = jax.tree.leaves(jax.jit(program)(*arguments))
    for fusions in (False, True):
        results = evaluator.run(module, [[argument] for argument in arguments], is_cpu=fusions)
        for (actual,), other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(actual, other)


def test_a_bitcast_next_to_fusions_keeps_the_memory(evaluator: Evaluator) -> None:
    module = parse_module("""HloModule m

%fused (a: f32[2,3]) -> f32[3,2] {
  %a = f32[2,3]{1,0} parameter(0)
  %b = f32[2,3]{0,1} copy(%a)
  %c = f32[3,2]{1,0} bitcast(%b)
  ROOT %d = f32[3,2]{1,0} reverse(%c), dimensions={0}
}

ENTRY %main (x: f32[2,3]) -> f32[3,2] {
  %x = f32[2,3]{1,0} parameter(0)
  ROOT %fusion = f32[3,2]{1,0} fusion(%x), kind=kLoop, calls=%fused
}
""")
    x = draw(2, 3)
    [[actual]] = evaluator.run(module, [[x]], is_cpu=True)
    np.testing.assert_array_equal(actual, x.T[::-1])


def test_steps_have_names_of_their_own() -> None:
    lines = PlainLines()
    lines.begin("first")
    value = lines.fill("f32", "[2]", 3)
    lines.begin("second")
    lines.end("f32[2]", f"negate({lines.add('f32[2]', f'abs({value})')})")
    assert lines.lines == [
        "%first.step1 = f32[] constant(3)",
        "%first.step2 = f32[2] broadcast(%first.step1), dimensions={}",
        "%second.step1 = f32[2] abs(%first.step2)",
        "%second = f32[2] negate(%second.step1)",
    ]
