"""Loops of LLVM IR, found by their jumps, with the vector widths of their instructions."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.analysis.machine.vector_loops import count_vectors, list_loops, measure_width

NEST = """
define ptr @"nest.1"(ptr %0) #0 {
  %2 = load ptr, ptr %0, align 8
  br label %outer

outer:                                            ; preds = %after, %1
  %row = phi i64 [ 0, %1 ], [ %next, %after ]
  br label %inner

inner:                                            ; preds = %inner, %outer
  %index = phi i64 [ 0, %outer ], [ %step, %inner ]
  %wide.load = load <8 x float>, ptr %2, align 4
  %doubled = fadd <8 x float> %wide.load, %wide.load
  %mask = fcmp ogt <8 x float> %doubled, zeroinitializer
  store <8 x float> %doubled, ptr %2, align 4
  %step = add nuw i64 %index, 32
  %done = icmp eq i64 %step, 1024
  br i1 %done, label %after, label %inner, !llvm.loop !3

after:                                            ; preds = %inner
  %called = call float @expf(float 1.0)
  %next = add nuw nsw i64 %row, 1
  %last = icmp eq i64 %next, 64
  br i1 %last, label %end, label %outer

end:                                              ; preds = %after
  ret ptr null
}

!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.isvectorized", i32 1}
"""


def test_a_nest_of_loops_is_read_from_its_jumps() -> None:
    outer, inner = list_loops(NEST)
    assert (outer.function, outer.header, outer.depth, outer.is_innermost, outer.turns) == (
        "nest.1", "outer", 1, False, 64,
    )  # fmt: skip
    assert (inner.header, inner.depth, inner.is_innermost, inner.turns) == ("inner", 2, True, 32)
    # What is in the inner loop is not the outer one's.
    assert (outer.vectors, outer.calls, inner.calls) == ({}, ("expf",), ())
    assert (inner.vectors, inner.width, inner.is_vectorized) == ({"<8 x float>": 4}, 256, True)
    assert inner.notes == ("llvm.loop.isvectorized",)


@pytest.mark.parametrize(
    ("instruction", "bound", "turns"),
    [("icmp eq i64 %step", 1024, 32), ("icmp ult i64 %step", 1000, 32), ("icmp eq i64 %step", 1000, None)],
)
def test_the_iterations_are_known_if_the_counter_reaches_its_bound(
    instruction: str, bound: int, turns: int | None
) -> None:
    text = NEST.replace("icmp eq i64 %step, 1024", f"{instruction}, {bound}")
    assert list_loops(text)[1].turns == turns


def test_a_counter_compared_before_its_step_has_one_more_iteration() -> None:
    text = NEST.replace("icmp eq i64 %step, 1024", "icmp eq i64 %index, 992")
    assert list_loops(text)[1].turns == 32


def test_a_jump_into_the_middle_of_a_loop_does_not_extend_the_loop() -> None:
    text = NEST.replace("br i1 %last, label %end, label %outer", "br label %end")
    assert [loop.header for loop in list_loops(text)] == ["inner"]


@pytest.mark.parametrize(
    ("vectors", "width"),
    [
        ({"<8 x float>": 3, "<4 x i64>": 1}, 256),
        ({"<4 x bfloat>": 1}, 64),
        ({"<16 x i8>": 2, "<8 x double>": 2}, 512),
        ({}, 0),
    ],
)
def test_the_vector_width_is_that_of_most_instructions(vectors: dict[str, int], width: int) -> None:
    assert measure_width(vectors) == width


def test_vectors_of_booleans_do_not_count_as_vectors() -> None:
    assert count_vectors("define void @f() {\n  %m = xor <8 x i1> %a, %b\n  ret void\n}\n") == {}


def test_a_compiled_kernel_has_the_iterations_and_vectors_that_its_shape_implies() -> None:
    shape = jax.ShapeDtypeStruct((4096, 256), jnp.float32)
    program = capture(lambda x, b: jnp.tanh(x + b) * 2, shape, jax.ShapeDtypeStruct((256,), jnp.float32), target="cpu")
    (text,) = (code.text for code in program.code if code.language == "llvm")
    loops = list_loops(text)
    (inner,) = (loop for loop in loops if loop.is_innermost)
    assert inner.is_vectorized
    # Every element is handled once: the turns of all loops around it, by the stores of one turn and their lanes.
    lines = text[text.index(f"\n{inner.header}:") :]
    stores = re.findall(r"^  store <(\d+) x float>", lines[: lines.index("br i1")], re.MULTILINE)
    turns = 1
    for loop in loops:
        assert loop.turns
        turns *= loop.turns
    assert sum(map(int, stores)) * turns in {4096 * 256, 4096 * 256 // 2, 4096 * 256 // 4}
