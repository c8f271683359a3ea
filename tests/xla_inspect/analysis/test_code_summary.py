"""Code compares equal under renaming, and an added loop weighs more than another instruction order."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import Capture, capture
from xla_inspect.analysis import CodeSummary, summarize_code
from xla_inspect.captured import Code

LENGTH = 4096


def named(one: jax.Array) -> jax.Array:
    return jnp.sin(one) * 2 + 1


def called_otherwise(other: jax.Array) -> jax.Array:
    return jnp.sin(other) * 2 + 1


def in_loop(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 100, lambda at, held: held.at[at].set(held[at] * 2), x)


def rewriting(x: jax.Array) -> jax.Array:
    """Return the array after iterations that each rewrite it completely, as one release compiled an in-place update."""
    places = jnp.arange(LENGTH)
    return jax.lax.fori_loop(0, 100, lambda at, held: jnp.where(places == at, held[at] * 2, held), x)


@cache
def compile_for(target: str, function: str) -> Capture:
    return capture(globals()[function], jax.ShapeDtypeStruct((LENGTH,), jnp.float32), target=target)


def summarize(target: str, function: str) -> CodeSummary:
    summary = summarize_code(compile_for(target, function).code)
    assert summary is not None
    return summary


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_other_names_of_values_and_functions_are_not_a_difference(target: str) -> None:
    first, second = summarize(target, "named"), summarize(target, "called_otherwise")
    assert first.digest == second.digest
    assert first.distance(second) == 0
    assert first.instructions > 0


@pytest.mark.parametrize("target", ["cpu", "h100"])
def test_different_work_is_a_difference(target: str) -> None:
    first, second = summarize(target, "named"), summarize(target, "in_loop")
    assert first.digest != second.digest
    assert 0 < first.distance(second) <= 1


def test_a_loop_that_rewrites_the_array_is_distinguished_from_an_update_in_place() -> None:
    first, second = summarize("cpu", "in_loop"), summarize("cpu", "rewriting")
    assert max(first.loops) == 1
    assert max(second.loops) == 2
    assert first.distance(second) > 0.5


def test_different_metadata_in_code_is_not_a_difference() -> None:
    code = compile_for("cpu", "named").code
    noted = [
        type(line)(
            line.kernel, line.language, line.text.replace(", align 4", ", align 64").replace("!alias.scope", "!noalias")
        )
        for line in code
    ]
    first, second = summarize_code(code), summarize_code(noted)
    assert first is not None
    assert second is not None
    assert first.digest == second.digest


def test_missing_code_is_not_compared() -> None:
    assert summarize_code([]) is None


def test_all_gpu_kernels_of_a_file_are_counted() -> None:
    kernel = ".visible .entry {}(\n\t.param .u64 {}_param_0\n)\n{{\n\tret;\n}}\n"
    text = "".join(kernel.format(name, name) for name in ("sort_1", "loop_fusion"))
    on_cpu = "define ptr @loop_fusion(ptr %0) {\n  ret ptr null\n}\n"
    summaries = [summarize_code([Code("all", language, code)]) for language, code in (("ptx", text), ("llvm", on_cpu))]
    assert [summary and summary.entries for summary in summaries] == [2, 0]
