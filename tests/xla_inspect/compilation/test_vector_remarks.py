"""LLVM's remarks on the CPU's kernels, by kernel and reproducible."""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture, jax_private
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.compilation import logged_compile, vector_remarks

needs_affinity = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="LLVM's remarks need one thread")

LOG = """remark: <unknown>:0:0: 'a_wrapped' inlined into 'a' with (cost=always): always inline attribute
remark: <unknown>:0:0: loop not vectorized: call instruction cannot be vectorized
some other line
remark: <unknown>:0:0: loop not vectorized: call instruction cannot be vectorized
remark: <unknown>:0:0: 24 stack bytes in function 'b.1'
remark: <unknown>:0:0: vectorized loop (vectorization width: 8, interleaved count: 4)
remark: <unknown>:0:0: 8 stack bytes in function 'a'
remark: <unknown>:0:0: vectorized loop (vectorization width: 2, interleaved count: 1)
"""


def test_a_remark_belongs_to_the_next_generated_kernel() -> None:
    assert [(event.module, event.text) for event in vector_remarks.read_remarks(LOG)] == [
        ("a", "a: vectorized loop (vectorization width: 8, interleaved count: 4)"),
        ("a", "a: 8 stack bytes"),
        ("b.1", "b.1: loop not vectorized: call instruction cannot be vectorized (2 times)"),
        ("b.1", "b.1: 24 stack bytes"),
    ]


def collect(text: str) -> dict[str, list[str]]:
    """Return LLVM's remarks on the kernels of the function named `text` (`sum` or `double`), by kernel."""
    functions = {
        "sum": lambda x: jnp.tanh(x @ x.T + 1).sum(0),
        "double": lambda x: x * 2,
    }
    program = capture(functions[text], jax.ShapeDtypeStruct((64, 256), jnp.float32), target="cpu", reasons=True)
    remarks_by_kernel: dict[str, list[str]] = {}
    for event in program.log:
        if event.source == vector_remarks.SOURCE:
            remarks_by_kernel.setdefault(event.module, []).append(event.text)
    return remarks_by_kernel


@needs_affinity
def test_each_kernel_of_a_capture_has_its_remarks_and_they_are_the_same_again() -> None:
    first, second = collect("sum"), collect("sum")
    assert first == second
    program = capture(lambda x: x * 2, jax.ShapeDtypeStruct((64, 256), jnp.float32), target="cpu")
    (kernel,) = {code.kernel for code in program.code if code.language == "llvm"}
    remarks = collect("double")
    assert remarks.keys() == {kernel}
    assert any("vectorized loop (vectorization width: 8" in text for text in remarks[kernel])
    assert any(text.endswith("stack bytes") for text in remarks[kernel])


@needs_affinity
def test_the_remarks_are_reasons_about_the_kernels_instruction() -> None:
    program = capture(lambda x: x * 2, jax.ShapeDtypeStruct((64, 256), jnp.float32), target="cpu", reasons=True)
    (kernel,) = {code.kernel for code in program.code if code.language == "llvm"}
    decisions = [decision for decision in read_reasons(program).of("vectorization") if decision.kind]
    assert {decision.instruction for decision in decisions} == {kernel}
    assert ("vectorized", "done") in {(decision.kind, decision.verdict) for decision in decisions}


@pytest.mark.usefixtures("all_targets")
def test_other_targets_are_not_asked() -> None:
    call = jax_private.CompileCall(b"", b"", ())
    assert logged_compile.collect_remarks(call, "h100") == ()


def test_a_request_is_the_same_but_for_its_options() -> None:
    call = jax_private.CompileCall(b"module", b"options", (0, 1))
    remarks = vector_remarks.ask_remarks(call)
    assert (remarks.module, remarks.devices) == (b"module", (0, 1))
    assert remarks.options.startswith(b"options")
    for option, passes in vector_remarks.SPEAKING.items():
        assert option.encode() in remarks.options
        assert f"({passes})".encode() in remarks.options
