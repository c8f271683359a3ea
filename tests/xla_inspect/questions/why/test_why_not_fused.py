"""Two unfused kernels with both lines, the pass that separated them and its reason."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.errors import InspectError
from xla_inspect.questions.why.explanation import Finding  # noqa: TC001 - what is returned
from xla_inspect.questions.why.finding import WhyFinder

X = jax.ShapeDtypeStruct((4096, 1024), jnp.float32)


def spread(x: jax.Array) -> jax.Array:
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return variance * 2.0


def held(x: jax.Array) -> jax.Array:
    scaled = x * 3.0 + 1.0
    guarded = jax.lax.optimization_barrier(scaled)
    return jnp.tanh(guarded)


@cache
def finder(target: str) -> WhyFinder:
    return WhyFinder(capture(spread, X, target=target, reasons=True))


def explain(finder: WhyFinder, one: str, other: str) -> Finding:
    finding: Finding = finder.answer("", "", apart=(one, other)).findings[0]
    return finding


@pytest.mark.usefixtures("all_targets")
def test_a_chain_between_two_kernels_is_reported_with_the_refused_step() -> None:
    finding = explain(finder("tpu-v5e"), "mean", "variance")
    assert (finding.kind, finding.pass_name) == ("apart", "tpu_fusion")
    assert "runs between them, and the pass tpu_fusion does not fuse " in finding.verdict
    assert "because a reduction, or a value computed from one, is completed before" in finding.verdict
    assert [line.text.partition(" = ")[0] for line in finding.lines] == ["mean", "variance"]


@pytest.mark.usefixtures("all_targets")
def test_one_kernel_with_both_lines_is_reported_as_fused() -> None:
    finding = explain(finder("h100"), "mean", "variance")
    assert finding.kind == "together"
    assert [line.text.partition(" = ")[0] for line in finding.lines] == ["mean", "variance"]


def test_a_barrier_is_reported_with_its_line_before_the_kernels() -> None:
    finding = explain(WhyFinder(capture(held, X, reasons=True)), "scaled", "tanh")
    assert "two kernels: an optimization_barrier (test_why_not_fused.py:" in finding.verdict
    assert finding.lines[0].text == "guarded = jax.lax.optimization_barrier(scaled)"
    assert len(finding.lines) == 3


def test_a_value_is_not_separate_from_itself() -> None:
    with pytest.raises(InspectError, match="are the same value"):
        explain(WhyFinder(capture(held, X, reasons=True)), "scaled", "scaled")
