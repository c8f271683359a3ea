"""Launches: one definition, their order, the loops and branches around them, and their number of runs."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from programs import control_flow, ranked
from xla_inspect import capture
from xla_inspect.analysis import launches
from xla_inspect.analysis.launches import find_role, list_kernels, list_launches
from xla_inspect.analysis.loops import Loops
from xla_inspect.hlo import parse_module
from xla_inspect.questions.summary import summarize

ROOT = Path(__file__).resolve().parents[3]

MODULE = """HloModule m, is_scheduled=true
%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%p)
}
%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
%called (p: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  ROOT %inside = f32[8]{0} fusion(%p.1), kind=kLoop, calls=%fused
}
%async_fused (p: f32[8]) -> f32[8] {
  %p.2 = f32[8]{0} parameter(0)
  ROOT %held = f32[8]{0} fusion(%p.2), kind=kCustom, calls=%fused
}
%offloaded (p: f32[8]) -> f32[8] {
  %p.3 = f32[8]{0} parameter(0)
  ROOT %whole = f32[8]{0} call(%p.3), to_apply=%called
}
ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %c = f32[] constant(1)
  %start = (f32[8]{0:S(1)}, f32[8]{0}, u32[]) copy-start(%x)
  %two = f32[8]{0} call(%x), to_apply=%called
  %three = f32[8]{0} call(%two), to_apply=%called
  %done = f32[8]{0:S(1)} copy-done(%start)
  %slice-start = ((f32[8]{0}), f32[4]{0:S(1)}, s32[]) slice-start(%three), slice={[0:4]}
  %slice-done = f32[4]{0:S(1)} slice-done(%slice-start)
  %slice = f32[4]{0} slice(%three), slice={[0:4]}
  %fusion-start = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(%three), calls=%async_fused
  %fusion-update = ((f32[8]{0}), f32[8]{0}, u32[]) async-update(%fusion-start)
  %fusion-done = f32[8]{0} async-done(%fusion-update)
  %call-start = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(%three), calls=%offloaded
  %call-done = f32[8]{0} async-done(%call-start)
  %copy = f32[8]{0} copy(%call-done)
  %all = f32[8]{0} all-reduce(%copy), to_apply=%sum
  %b = f32[2,4]{1,0} bitcast(%all)
  %token = token[] after-all()
  %space = f32[8]{0} custom-call(), custom_call_target="AllocateBuffer"
  %library = f32[8]{0} custom-call(%all), custom_call_target="__cublas$gemm"
  ROOT %sum.1 = f32[] reduce(%library, %c), dimensions={0}, to_apply=%sum
}
"""


def test_a_module_launches_kernels_collectives_and_copies_each_once_where_it_starts() -> None:
    assert [(launch.name, launch.sort, launch.role) for launch in list_launches(parse_module(MODULE))] == [
        ("start", "copy, async", "copy"),
        ("inside", "fusion kLoop", "kernel"),
        ("inside", "fusion kLoop", "kernel"),
        ("slice-start", "slice, async", "copy"),
        ("slice", "slice", "kernel"),
        ("held", "fusion kCustom, async", "kernel"),
        ("whole", "call, async", "kernel"),
        ("copy", "copy", "copy"),
        ("all", "all-reduce", "collective"),
        ("library", "custom-call __cublas$gemm", "kernel"),
        ("sum.1", "reduce", "kernel"),
    ]


def test_the_scheduled_instruction_is_the_start_of_an_asynchronous_launch() -> None:
    starts = [launch.scheduled.name for launch in list_launches(parse_module(MODULE)) if launch.is_async]
    assert starts == ["start", "slice-start", "fusion-start", "call-start"]


@pytest.mark.parametrize(
    ("sort", "role"),
    [
        ("all-gather, async", "collective"),
        ("fusion __triton_collective, async", "collective"),
        ("partition-id", "kernel"),
        ("custom-call TopK", "kernel"),
        ("dot", "kernel"),
        ("dynamic-slice", "kernel"),
        ("dynamic-update-slice, async", "copy"),
        ("outfeed", "copy"),
        ("send", "copy"),
        ("custom-call AllocateBuffer", None),
        ("async-update", None),
        ("while", None),
        ("parameter", None),
    ],
)
def test_the_role_of_an_instruction_follows_from_its_recorded_name(sort: str, role: str | None) -> None:
    assert find_role(sort) == role


def test_the_glossary_uses_the_codes_definition_of_launches() -> None:
    definition = " ".join((launches.__doc__ or "").splitlines()[2:])
    assert definition in (ROOT / "docs/glossary.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("all_targets")
def test_the_thunk_with_a_grid_describes_an_operation_with_several_thunks() -> None:
    program = capture(ranked.ranked, *ranked.EXAMPLE, target="h100")
    several = [
        kernel
        for kernel in list_kernels(program)
        if [thunk_entry.name for thunk_entry in program.thunks].count(kernel.name) > 1
    ]
    assert several
    for kernel in several:
        kinds = [thunk.kind for thunk in program.thunks if thunk.name == kernel.name]
        assert (kinds, kernel.thunk and kernel.thunk.kind) == (["kCopy", "kCustomKernel"], "kCustomKernel")


@pytest.mark.usefixtures("all_targets")
def test_a_body_runs_as_often_as_the_loop_and_the_condition_once_more() -> None:
    function, example = control_flow.PROGRAMS["fori_loop"]
    for target in ("cpu", "h100"):
        program = capture(function, *example, target=target)
        inside = [launch for launch in list_launches(program) if launch.within]
        loop = next(while_loop for while_loop in program.module.walk() if while_loop.opcode == "while")
        assert {launch.within for launch in inside} == {(loop.name,)}
        bodies = loop.calls["body"]
        expected = [3 if launch.instruction.computation in bodies else 4 for launch in inside]
        assert [launch.runs for launch in inside] == expected
        assert set(expected) == {3, 4}


def test_a_branch_or_a_loop_of_unknown_length_has_an_unknown_number_of_runs() -> None:
    for name in ("cond", "while_loop"):
        function, example = control_flow.PROGRAMS[name]
        inside = [launch for launch in list_launches(capture(function, *example)) if launch.within]
        assert {launch.runs for launch in inside} == {None}


def test_totals_count_the_layers_of_a_decoding_step_in_a_loop_of_unknown_length() -> None:
    weights = jnp.ones((8, 64, 64))

    def step(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        layers = jax.lax.scan(lambda x, weight: (jnp.tanh(x @ weight), None), carry[1], weights)
        return carry[0] + jnp.int32(layers[0][0, 0]), layers[0]

    def generate(x: jax.Array) -> jax.Array:
        tokens, _ = jax.lax.while_loop(lambda carry: carry[0] < 9, step, (jnp.int32(0), x))
        return tokens

    program = capture(generate, jnp.ones((4, 64)))
    loops = Loops(program.module)
    launches = [launch for launch in list_launches(program) if len(launch.within) > 1]
    assert {launch.runs for launch in launches} == {None}
    # The condition of the inner loop runs once more than its body.
    assert {launch.assumed_runs for launch in launches} == {8, 9}
    assert any("unknown trip count" in str(part) for part in summarize("generate", [program], "").tell())
    assert {loops.count_assumed_runs(launch.instruction.computation) for launch in launches} == {8, 9}


@pytest.mark.usefixtures("all_targets")
def test_an_asynchronous_thunk_is_one_launch_of_its_loop() -> None:
    function, example = control_flow.PROGRAMS["scan"]
    program = capture(function, *example, target="h100")
    started = [thunk.name for thunk in program.thunks if thunk.kind == "kAsyncStart"]
    sliced = [launch for launch in list_launches(program) if launch.is_async]
    assert [launch.scheduled.name for launch in sliced] == started
    assert [(launch.runs, launch.role, launch.thunk and launch.thunk.kind) for launch in sliced] == [
        (8, "kernel", "kDynamicSliceFusion")
    ]
