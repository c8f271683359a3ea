"""Decisions are found by instructions of the optimized program, even if they were renamed."""

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
    program = capture(gram, jax.ShapeDtypeStruct((64, 64), jnp.float32), reasons=True)
    return Attempts(Histories(program), read_reasons(program))


def test_a_refused_fusion_is_found_by_the_two_kernels() -> None:
    kernels = KernelParts(attempts().histories.capture.module)
    tanh = next(launch for launch in kernels.launches if kernels.hero(launch).opcode == "tanh")
    dot = next(launch for launch in kernels.launches if launch.opcode in {"dot", "fusion"} and launch is not tanh)
    attempts_between = attempts().between(
        (*kernels.parts(tanh), tanh.instruction), (*kernels.parts(dot), dot.instruction)
    )
    assert {launch.verdict for launch in attempts_between if launch.kind} == {"refused"}
    assert attempts().between(kernels.parts(dot), kernels.parts(dot)) == []


def test_decisions_about_an_instruction_are_found_after_it_was_fused() -> None:
    module = attempts().histories.capture.module
    multiply = next(instruction for instruction in module.walk() if instruction.opcode == "multiply")
    assert {instruction.topic for instruction in attempts().about([multiply])} >= {"fusion"}
