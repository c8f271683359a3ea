"""Assertions about a program's results: their limits, the passes that a failure names, and modules that do not run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect.budgets import AssertionLog, BrokenError, CompiledProgram, hold_call
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("all_targets")

ROW = jax.ShapeDtypeStruct((64,), jnp.float32)
LOST = "float_normalization/simplify-fp-conversions"


def step(x: jax.Array, w: jax.Array) -> dict[str, Any]:
    error = x - x.astype(jnp.bfloat16).astype(jnp.float32)
    return {"loss": (x * 2).sum(), "grads": {"w": error * 1024, "b": jnp.sqrt(w)}, "count": jnp.arange(3)}


@cache
def held(target: str = "h100") -> CompiledProgram:
    return hold_call(step, ROW, ROW, target=target)


def break_it(assertion: Callable[[], object]) -> str:
    with pytest.raises(BrokenError) as raised:
        assertion()
    return str(raised.value)


def test_a_pass_that_changes_an_output_is_named_with_instruction_line_sizes_and_option() -> None:
    message = break_it(lambda: held().no_pass_changes("grads", more_than=1e-6))
    assert message.startswith(
        "1 pass of step on NVIDIA H100 changes the output grads by a relative error of more than 1e-06, but none may\n"
        f"    {LOST}: relative error 1, absolute error "
    )
    assert " ulps, in 64 elements in grads.w\n      begins at sub" in message
    assert "test_result_assertions.py:26 `error = x - x.astype(jnp.bfloat16)" in message
    assert "    The option xla_allow_excess_precision=false prevents the largest of these changes.\n" in message
    assert "random numbers with seed 0" in message
    assert "On a real NVIDIA H100, there may be further differences" in message


def test_other_outputs_and_larger_limits_are_not_affected_by_the_pass() -> None:
    log = AssertionLog()
    program = hold_call(step, ROW, ROW, target="h100", log=log)
    assert program.no_pass_changes("loss", more_than=1e-6)
    assert program.no_pass_changes("['grads']['w']", more_than=1.0)
    assert log.find_forgotten() == ""


def test_an_unknown_output_is_refused_with_those_that_exist() -> None:
    with pytest.raises(InspectError, match=r"no output 'los'; its outputs are count, grads\.b, grads\.w, loss"):
        held().no_pass_changes("los")
    with pytest.raises(InspectError, match=r"no output 'loss'; its outputs are \[0\], \[1\]\.x"):
        hold_call(lambda x: (x, {"x": x + 1}), ROW).no_pass_changes("loss")
    lone = hold_call(jnp.tanh, ROW)
    with pytest.raises(InspectError, match="its only output has no name, so omit it"):
        lone.no_pass_changes("loss")
    assert hold_call(lambda x: (x, x + 1), ROW).no_pass_changes(1)


def test_a_change_of_zeros_has_a_relative_error_of_one() -> None:
    # In bfloat16 the sum rounds to one, so the results before the pass are zeros.
    def shifted(x: jax.Array) -> jax.Array:
        return (x + 1e-3).astype(jnp.bfloat16).astype(jnp.float32) - x

    program = hold_call(shifted, ROW, target="h100")
    ones = {"x": np.ones(64, np.float32)}
    assert "by a relative error of more than 0.99" in break_it(
        lambda: program.no_pass_changes(more_than=0.99, inputs=ones)
    )
    assert program.no_pass_changes(more_than=1, inputs=ones)


def test_numbers_are_compared_with_a_function_float64_and_other_programs() -> None:
    message = break_it(lambda: held().same_numbers_as(step, ulp=4))
    assert message.startswith(
        "step on NVIDIA H100 does not compute the same numbers as step run eagerly (1 output of 4)"
    )
    assert "\n    grads.w: relative error 1, " in message
    assert "; required: ulps <= 4\n  The passes of step on NVIDIA H100:\n    " + LOST in message
    assert held("cpu").same_numbers_as(held("tpu-v5e"), ulp=4)
    assert held("cpu").same_numbers_as("eager", ulp=4, relative=1e-6)
    assert held("cpu").same_numbers_as("x64", ulp=4)


def test_each_output_is_compared_with_each_limit() -> None:
    def scale(x: jax.Array, small: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x * 1.01, small * jnp.float32(1 + 2**-20)

    def scale_more(x: jax.Array, small: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x * 1.02, small

    half = jax.ShapeDtypeStruct((64,), jnp.bfloat16)
    program = hold_call(scale, half, ROW)
    assert program.same_numbers_as(scale_more, relative=0.02)
    other = hold_call(scale_more, half, ROW, target="tpu-v5e")
    message = break_it(lambda: program.same_numbers_as(other, absolute=1e-9))
    assert message.startswith(
        "scale on CPU does not compute the same numbers as scale_more on TPU v5e (2 outputs of 2)"
    )
    assert "required: absolute error <= 1e-09\n" in message
    assert "  The passes of scale_more on TPU v5e:\n    No pass" in message
    # The output with the larger relative error has fewer representable numbers between the results.
    message = break_it(lambda: program.same_numbers_as(scale_more, ulp=4, relative=0.1))
    assert "(1 output of 2)\n    [1]: relative error 9.5e-07" in message
    assert "No pass" in message


def test_a_new_nan_exceeds_every_limit_and_another_kind_of_numbers_is_reported() -> None:
    program = hold_call(jnp.sqrt, ROW)
    message = break_it(lambda: program.same_numbers_as(lambda x: jnp.sqrt(abs(x)), absolute=1e9))
    assert "the result: a NaN or an infinity on one side only, in " in message
    assert program.same_numbers_as("eager")
    message = break_it(lambda: program.same_numbers_as(lambda x: x.astype(int)))
    assert message.startswith(
        "sqrt on CPU cannot be compared with <lambda> run eagerly: its results have the type int32"
    )
    assert "have the shapes [[63]] instead" in break_it(lambda: program.same_numbers_as(lambda x: x[1:]))
    random = hold_call(jax.random.normal, jax.random.key(0))
    assert "draws other random numbers in float64" in break_it(lambda: random.same_numbers_as("x64"))


def test_values_of_other_types_are_refused_and_not_taken_for_the_function_itself() -> None:
    other: Any = None
    with pytest.raises(InspectError, match="other has the type NoneType; pass a function"):
        hold_call(jnp.sqrt, ROW).same_numbers_as(other)
    with pytest.raises(InspectError, match=r"step has no output 'None'; its outputs are count, grads.b, grads.w, loss"):
        held().no_pass_changes(other)
    with pytest.raises(InspectError, match=r"the seed is 1\.5; pass an integer of 0 or more"):
        held().no_pass_changes("loss", seed=1.5)  # type: ignore[arg-type]


def test_the_function_gets_arguments_by_position_also_if_the_program_does_not_use_all() -> None:
    def double(x: jax.Array, w: jax.Array) -> jax.Array:  # noqa: ARG001 - that is the point
        return w * 2

    def add(a: jax.Array, b: jax.Array) -> jax.Array:  # noqa: ARG001 - likewise
        return b + b

    assert hold_call(double, ROW, ROW).same_numbers_as(add)


def test_a_module_that_does_not_run_is_a_failure_with_its_reason() -> None:
    table = jnp.asarray(np.random.default_rng(0).standard_normal(5000))
    program = hold_call(lambda x: x + table, jax.ShapeDtypeStruct((5000,), jnp.float32))
    message = break_it(program.no_pass_changes)
    assert "a pass may change an output, because not all passes can be compared\n" in message
    assert "modules did not run: the value of the constant" in message
    message = break_it(lambda: program.same_numbers_as("eager", relative=1))
    assert "cannot be compared with the function run eagerly: the value of the constant" in message


def test_a_negative_limit_is_refused() -> None:
    program = hold_call(jnp.sqrt, ROW)
    with pytest.raises(InspectError, match="ulps is negative, so no result could be within it: -1"):
        program.same_numbers_as("eager", ulp=-1)
    with pytest.raises(InspectError, match="more_than is negative"):
        program.no_pass_changes(more_than=-0.5)
