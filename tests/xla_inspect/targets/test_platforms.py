"""Answers about an AMD GPU use its maker's words."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.captured import LogEvent
from xla_inspect.report import describe_words
from xla_inspect.targets import find_hardware, find_terms


@pytest.mark.parametrize(
    ("target", "matrix", "vector"),
    [("h100", "TF32 tensor cores", "f32 CUDA cores"), ("mi300x:8", "f32 matrix cores", "f32 vector units")],
)
def test_the_units_of_a_product_have_the_makers_name(target: str, matrix: str, vector: str) -> None:
    hardware = find_hardware(target)
    assert hardware is not None
    hardware = replace(hardware, matrix={"f32": 2.0}, vector={"f32": 1.0, "s32": 1.0})
    names = [roof.name for roof in (hardware.find_product("f32"), hardware.find_other("f32")) if roof]
    assert names == [matrix, vector]


def test_sentences_about_passes_name_the_makers_libraries_and_units() -> None:
    names = {"pass": ["cublas-gemm-rewriter", "conv-rewriter", "gemm-fusion-swap-operands"]}
    nvidia, amd = (" ".join(describe_words(names, target).values()) for target in ("h100", "mi250"))
    assert ["cuBLAS" in nvidia, "cuDNN" in nvidia, "tensor cores" in nvidia] == [True] * 3
    assert ["hipBLASLt" in amd, "MIOpen" in amd, "matrix cores" in amd] == [True] * 3
    assert not [word for word in find_terms("mi250").words if f" {word} " in amd]
    assert find_terms("cpu").adapt(nvidia) == nvidia


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(("target", "words"), [("h100", "4 warps per block"), ("mi300x", "4 waves per block")])
def test_reasons_are_in_the_makers_words(target: str, words: str) -> None:
    text = "Found parameters sizes=[1,64], num_warps=4 for fusion computation %fused (p: f32[64]) -> f32[64]"
    event = LogEvent(0, "p", "a-pass", "jit_f", "fusion_block_level_rewriter", 1, text)
    program = capture(jnp.tanh, jax.ShapeDtypeStruct((64,), jnp.float32), target=target)
    (decision,) = read_reasons(program.retold(log=(event,))).decisions
    assert words in decision.sentence
