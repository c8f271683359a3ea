"""Tables agree with their capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import pytest

from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.hlo import parse_module
from xla_inspect.practice import models, tables

if TYPE_CHECKING:
    from xla_inspect import Capture


@pytest.fixture(scope="module")
def program() -> Capture:
    return capture(models.wasteful, models.PARAMS, models.X)


@pytest.mark.parametrize(("target", "expected"), [("cpu", (1, 2, 3)), ("h100", (1, 1, 2)), ("tpu-v5e", (1, 3, 2))])
def test_the_three_programs_to_predict_have_different_answers(target: str, expected: tuple[int, int, int]) -> None:
    counts = [len(list_kernels(capture(f, *shapes, target=target))) for f, shapes in models.PREDICTED.values()]
    assert tuple(counts) == expected


def test_categories_add_up_and_name_the_changes(program: Capture) -> None:
    before, after = program.unoptimized_module, program.module
    rows = tables.categories(before, after)
    assert sum(row[1] for row in rows) == before.instruction_count()
    assert sum(row[2] for row in rows) == after.instruction_count()
    by_name = {row[0]: row[3] for row in rows}
    assert "negate 2 to 0" in by_name["element-wise"]
    assert by_name["linear algebra"] == ""


def test_kernels_list_their_contents(program: Capture) -> None:
    rows = tables.describe_kernels(program)
    assert [name for name, _, _ in rows] == [kernel.name for kernel in list_kernels(program)]
    assert rows[0][1:] == ("kCustom __ynn_fusion", "dot")
    assert ("kLoop", "2 broadcast, add, maximum") in [row[1:] for row in rows]


def test_a_result_that_several_kernels_read_is_shared() -> None:
    gradient = capture(jax.grad(models.loss), models.PARAMS, models.X, models.Y)
    rows = tables.list_shared(gradient)
    assert rows[0][:2] == ("ynn_fusion.3", "f32[32,128]")
    assert rows[0][2] == "broadcast_maximum_fusion, select_multiply_fusion"
    for name, _, readers in rows:
        users = {user.name for user in gradient.module.entry.users(name)}
        assert set(readers.split(", ")) == users
    assert tables.list_shared(capture(models.mlp, models.PARAMS, models.X)) == []


def test_the_remover_is_the_first_pass_after_which_the_waste_is_missing(program: Capture) -> None:
    assert tables.find_remover(program, ("transpose",), 0) == ("the conversion of StableHLO to HLO", 0)
    assert tables.find_remover(program, ("negate",), 0) == ("algsimp, in simplification", 0)
    assert tables.find_remover(program, ("maximum",), 0) == ("no pass", 1)
    assert tables.find_remover(program, ("sine",), 0) == ("JAX, before compilation", 0)


def test_passes_show_their_changes_and_remaining_instructions(program: Capture) -> None:
    rows = tables.list_passes(program)
    assert rows[-1][2] == program.module.instruction_count()
    assert ("cse", "removed 1 constant and 1 exponential") in [row[:2] for row in rows]


def test_decisions_are_counted(program: Capture) -> None:
    decision_table = tables.list_decisions(program)
    assert decision_table[0] == f"32 operations on data became {len(list_kernels(program))} kernels."
    visible, runs = len(tables.list_passes(program)), len(program.runs)
    assert decision_table[1] == f"{visible} of {runs} runs of passes changed the text of the module."
    assert "2 matmuls remain, written as dot." in decision_table


def test_a_library_call_is_named_by_its_target() -> None:
    off = {"xla_gpu_enable_triton_gemm": False}
    rows = tables.describe_kernels(capture(models.mlp, models.PARAMS, models.X, target="h100", options=off))
    assert ("no fusion", "custom-call __cublas$lt$matmul") in [row[1:] for row in rows]


MODULE = """HloModule m, is_scheduled=true
%inner (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %c = f32[] constant(2.5)
  %b = f32[4]{0} broadcast(%c), dimensions={}
  ROOT %n = f32[4]{0} multiply(%p, %b)
}
%outer (q: f32[4]) -> f32[4] {
  %q = f32[4]{0} parameter(0)
  ROOT %inside = f32[4]{0} fusion(%q), kind=kLoop, calls=%inner
}
ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %k = f32[70]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})
  ROOT %f = f32[4]{0} fusion(%x), kind=kLoop, calls=%outer
}
"""


def test_a_constant_is_found_in_nested_fusions() -> None:
    rows = tables.list_constants(parse_module(MODULE))
    assert rows[0] == ("2.5", "f32[]", "inside f")
    assert rows[1][1:] == ("f32[70]", "ENTRY")
    assert len(rows[1][0]) == tables.SHOWN
    assert rows[1][0].endswith("...")


def test_layouts_are_shown_next_to_their_shapes() -> None:
    program = capture(models.classify, models.PARAMS, models.X, target="tpu-v5e")
    rows = {name: (shape, layout) for name, shape, layout in tables.list_layouts(program)}
    assert rows["params_w2.1"] == ("f32[128,16]", "{0,1:T(8,128)}")
    assert rows["copy-done"] == ("f32[64,128]", "{1,0:T(8,128)S(1)}")
