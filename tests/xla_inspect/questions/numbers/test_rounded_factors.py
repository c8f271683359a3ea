"""The answer tells how the matrix units of the target round the factors of matmuls."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from programs import product
from xla_inspect import numbers

pytestmark = pytest.mark.usefixtures("all_targets")

KINDS = {"cpu": "", "h100": "TF32", "tpu-v5e": "bfloat16"}


def test_the_rounding_of_matrix_units_is_told_with_the_way_to_prevent_it() -> None:
    square = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    answers = {target: numbers(jnp.matmul, square, square, target=target, against=["none"]) for target in KINDS}
    units = {target: answer.matrix_units for target, answer in answers.items()}
    assert units["cpu"] is None
    sizes = [units[target].relative for target in ("h100", "tpu-v5e")]  # type: ignore[union-attr]  # both round
    assert sizes == [pytest.approx(3e-4, rel=0.5), pytest.approx(2.5e-3, rel=0.5)]
    for target, kind in KINDS.items():
        text = " ".join(str(answers[target]).split())
        assert text.count(f"matmuls round float32 to {kind}") == (2 if kind else 0)
        assert text.count("`jax.default_matmul_precision('highest')` prevents it") == (1 if kind else 0)


def test_the_first_sentence_has_the_rounding_only_if_it_is_larger_than_each_pass() -> None:
    one = numbers(product.product, *product.EXAMPLE, target="h100", against=["none"])
    first = " ".join(str(one).partition("\n\n")[0].split())
    assert "the largest step is splitk-rewriter" in first
    assert "; on a real NVIDIA H100, matmuls round float32 to TF32" in first
    steps = tuple(replace(step, difference=replace(step.difference, relative=1.0)) for step in one.steps)
    assert "matmuls" not in str(replace(one, steps=steps)).partition("\n\n")[0]


@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_a_matmul_of_the_highest_precision_is_not_rounded(target: str) -> None:
    square = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    with jax.default_matmul_precision("highest"):
        answer = numbers(jnp.matmul, square, square, target=target, against=["none"])
    assert answer.matrix_units is None
    assert "matmuls round" not in str(answer)


@pytest.mark.parametrize("target", ["mi250", "mi300x"])
def test_no_rounding_is_claimed_for_the_matrix_cores_of_amd(target: str) -> None:
    square = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    answer = numbers(jnp.matmul, square, square, target=target, against=["none"])
    text = " ".join(str(answer).split())
    assert answer.matrix_units is None
    assert "matmuls round" not in text
    assert "How its matrix cores round float32 is not known here." in text
