"""Jaxprs as steps, and counted primitives, compared with JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from programs import mlp
from xla_inspect.analysis import find_residuals
from xla_inspect.compilation.jaxprs import count_primitives, read_steps

VECTOR = jax.ShapeDtypeStruct((4,), jnp.float32)


def loss(parameters: tuple[jax.Array, ...], x: jax.Array) -> jax.Array:
    """Return the sum of the MLP's output."""
    return jnp.sum(mlp.mlp(x, *parameters))


def test_steps_are_inputs_and_equations_in_order_with_their_operands() -> None:
    steps = read_steps(jax.make_jaxpr(lambda x, y: jnp.sin(x) * y)(VECTOR, VECTOR))
    assert [step.name for step in steps] == ["input", "input", "sin", "mul"]
    assert [step.uses for step in steps] == [(), (), (0,), (2, 1)]
    assert (steps[3].shape, steps[3].bytes) == ("f32[4]", 16)


def test_a_step_that_no_result_depends_on_is_not_live() -> None:
    def wasteful(x: jax.Array) -> jax.Array:
        jnp.exp(jnp.sin(x))
        return jnp.cos(x)

    steps = read_steps(jax.make_jaxpr(wasteful)(VECTOR))
    assert {step.name: step.live for step in steps} == {"input": True, "sin": False, "exp": False, "cos": True}


def test_the_backward_half_of_a_gradient_is_a_group_that_reads_the_forward_half() -> None:
    steps = read_steps(jax.make_jaxpr(jax.grad(loss))(mlp.EXAMPLE[1:], mlp.EXAMPLE[0]))
    groups = [step.group for step in steps]
    assert groups == sorted(groups, reverse=True)
    assert [steps[index].name for index in find_residuals(steps)] == ["custom_jvp_call", "gt"]


def test_a_program_that_transposes_an_array_has_no_backward_half() -> None:
    steps = read_steps(jax.make_jaxpr(lambda x: x.T)(jax.ShapeDtypeStruct((2, 3), jnp.float32)))
    assert {step.group for step in steps} == {"forward"}


def test_primitives_inside_branches_loops_and_calls_are_counted() -> None:
    def nested(x: jax.Array) -> jax.Array:
        x = lax.cond(jnp.sum(x) > 0, jnp.sin, jnp.cos, x)
        return lax.fori_loop(0, 2, lambda _, value: jax.nn.relu(value), x)

    counts = count_primitives(jax.make_jaxpr(nested)(VECTOR))
    assert {name: counts[name] for name in ("cond", "sin", "cos", "scan", "max")} == {
        "cond": 1, "sin": 1, "cos": 1, "scan": 1, "max": 1,
    }  # fmt: skip


def test_a_constant_of_the_trace_is_an_input() -> None:
    table = jnp.arange(4.0)
    steps = read_steps(jax.make_jaxpr(lambda x: x + table)(VECTOR))
    assert [step.name for step in steps] == ["input", "input", "add"]
