"""The pass that removed an operation, in modules written for the tests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from programs import layer
from xla_inspect import capture
from xla_inspect.analysis.rewrites import Fate, count_equations, count_executed, count_operations, find_fate
from xla_inspect.captured import Capture, PassChange

MODULE = """HloModule m

ENTRY %e (x: f32[4]) -> f32[4] {{
  %x = f32[4] parameter(0)
{lines}
}}
"""
TWO = "  %n = f32[4] negate(%x)\n  ROOT %r = f32[4] negate(%n)"
NONE = "  ROOT %r = f32[4] copy(%x)"
UNUSED = "  %n = f32[4] negate(%x)\n  %m = f32[4] negate(%n)\n  ROOT %r = f32[4] copy(%x)"
CALLS = """HloModule m

%f (p: f32[4]) -> f32[4] {
  %p = f32[4] parameter(0)
  ROOT %n = f32[4] negate(%p)
}

ENTRY %e (x: f32[4]) -> f32[4] {
  %x = f32[4] parameter(0)
  %c = f32[4] call(%x), to_apply=%f
  ROOT %d = f32[4] call(%c), to_apply=%f
}
"""
STABLEHLO = """module @m {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""
JAXPR = "{ lambda ; a:f32[4]. let\n    b:f32[4] = neg a\n    c:f32[4] = neg b\n  in (c,) }"


def module(lines: str) -> str:
    return MODULE.format(lines=lines)


def leave(*texts: str) -> Capture:
    """Return a capture whose passes `p0`, `p1`, ... produced these modules, the first before any pass."""
    before, *after = texts
    passes = tuple(PassChange("pipeline", f"p{place}", text) for place, text in enumerate(after))
    return capture(layer.layer, *layer.EXAMPLE).retold(
        jaxpr=JAXPR, stablehlo=STABLEHLO, before=before, after=texts[-1], passes=passes
    )


def test_the_pass_after_which_an_operation_is_missing_removed_it() -> None:
    fate = find_fate(leave(module(TWO), module(TWO), module(NONE), module(NONE)), ("negate",), 0)
    assert fate == Fate("p1", "pipeline", 1, 0)


def test_a_removal_that_a_later_pass_undoes_does_not_count() -> None:
    fate = find_fate(leave(module(TWO), module(NONE), module(TWO), module(NONE)), ("negate",), 0)
    assert fate.by == "p2"


def test_an_operation_in_the_final_module_was_kept() -> None:
    fate = find_fate(leave(module(TWO), module(NONE), module(TWO)), ("negate",), 0)
    assert (fate.happened, fate.left) == (False, 2)


def test_two_calls_of_one_negation_are_two_negations() -> None:
    assert count_executed(CALLS, ("negate",)) == 2
    assert count_operations(STABLEHLO, ("negate",)) == 2
    assert find_fate(leave(CALLS, module(NONE)), ("negate",), 1).by == "p0"


def test_an_unused_operation_counts_as_removed_before_dead_code_elimination() -> None:
    assert count_executed(module(UNUSED), ("negate",)) == 0
    assert find_fate(leave(module(TWO), module(UNUSED), module(NONE)), ("negate",), 0).by == "p0"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "import"),
        ({"stablehlo": STABLEHLO.replace("negate", "abs")}, "JAX"),
        ({"stablehlo": STABLEHLO.replace("negate", "abs"), "jaxpr": JAXPR.replace("neg", "abs")}, "Python"),
    ],
)
def test_an_operation_missing_from_all_passes_was_removed_before_them(changes: dict[str, str], expected: str) -> None:
    assert find_fate(replace(leave(module(NONE), module(NONE)), **changes), ("negate",), 0).by == expected


def test_equations_are_counted_by_their_primitives() -> None:
    assert count_equations(JAXPR, ("negate",)) == 2
    assert count_equations(JAXPR, ("multiply", "dot")) == 0
