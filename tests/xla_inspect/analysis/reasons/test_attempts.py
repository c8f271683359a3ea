"""Decisions are found by the instructions of the optimized program, whatever these were called when they were made."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp

from xla_inspect import capture
from xla_inspect.analysis import Histories, KernelParts
from xla_inspect.analysis.reasons import Attempts, read_reasons


def gram(x: jax.Array) -> jax.Array:
    y = jnp.tanh(x * 2.0)
    return y @ y.T


@cache
def attempts() -> Attempts:
    made = capture(gram, jax.ShapeDtypeStruct((64, 64), jnp.float32), reasons=True)
    return Attempts(Histories(made), read_reasons(made))


def test_what_was_refused_between_two_kernels_is_found_by_them() -> None:
    kernels = KernelParts(attempts().histories.capture.module)
    tanh = next(each for each in kernels.launches if kernels.hero(each).opcode == "tanh")
    dot = next(each for each in kernels.launches if each.opcode in {"dot", "fusion"} and each is not tanh)
    found = attempts().between((*kernels.parts(tanh), tanh.instruction), (*kernels.parts(dot), dot.instruction))
    assert {each.verdict for each in found if each.kind} == {"refused"}
    assert attempts().between(kernels.parts(dot), kernels.parts(dot)) == []


def test_what_was_said_of_an_instruction_is_found_after_it_was_fused() -> None:
    module = attempts().histories.capture.module
    multiply = next(each for each in module.walk() if each.opcode == "multiply")
    assert {each.topic for each in attempts().about([multiply])} >= {"fusion"}
