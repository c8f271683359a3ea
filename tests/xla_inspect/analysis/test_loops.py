"""Trip counts of loops that the compiler does not report; unknown ones are not guessed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import Capture, capture
from xla_inspect.analysis import list_launches
from xla_inspect.analysis.loops import Loops, divide
from xla_inspect.hlo import parse_module

SMALL = jax.ShapeDtypeStruct((8, 128), jnp.float32)
STACK = jax.ShapeDtypeStruct((5, 8, 128), jnp.float32)


def scan(x: jax.Array, stack: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda x, w: (jnp.sin(x * w), None), x, stack)[0]


def count_all(capture: Capture) -> list[int | None]:
    loops = Loops(capture.module)
    return sorted((loops.count_trips(loop) for loop in capture.module.walk() if loop.opcode == "while"), key=str)


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_a_scan_and_its_gradient_run_as_often_as_there_are_slices(target: str) -> None:
    slope = jax.grad(lambda x, stack: scan(x, stack).sum(), argnums=1)
    assert count_all(capture(scan, SMALL, STACK, target=target)) == [5]
    assert count_all(capture(slope, SMALL, STACK, target=target)) == [5, 5]
    assert count_all(
        capture(
            lambda x, stack: jax.lax.scan(lambda x, w: (jnp.sin(x * w), None), x, stack, reverse=True)[0],
            SMALL,
            STACK,
            target=target,
        )
    ) == [5]


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_the_runs_in_a_nested_loop_are_the_product_of_both_trip_counts(target: str) -> None:
    program = capture(
        lambda x, stack: jax.lax.fori_loop(2, 9, lambda _, x: scan(x, stack), x), SMALL, STACK, target=target
    )
    assert {5, 7} >= set(count_all(program)) > set()
    assert 35 in {launch.runs for launch in list_launches(program) if launch.role == "kernel"}


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_the_trip_count_of_a_data_dependent_loop_is_not_guessed(target: str) -> None:
    assert count_all(
        capture(lambda x: jax.lax.while_loop(lambda x: x.sum() < 3, jnp.cos, x), SMALL, target=target)
    ) == [None]
    assert count_all(
        capture(
            lambda x, times: jax.lax.fori_loop(0, times, lambda _, x: jnp.cos(x), x),
            SMALL,
            jax.ShapeDtypeStruct((), jnp.int32),
            target=target,
        )
    ) == [None]


def write(start: str, bound: str, direction: str, step: str, *, turned: bool = False) -> str:
    sides = "%bound, %at" if turned else "%at, %bound"
    return f"""HloModule m

%body (p: (s32[], s32[])) -> (s32[], s32[]) {{
  %p = (s32[], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %kept = s32[] get-tuple-element(%p), index=1
  %step = s32[] constant({step})
  %next = s32[] add(%step, %i)
  ROOT %t = (s32[], s32[]) tuple(%next, %kept)
}}

%condition (q: (s32[], s32[])) -> pred[] {{
  %q = (s32[], s32[]) parameter(0)
  %at = s32[] get-tuple-element(%q), index=0
  %bound = s32[] get-tuple-element(%q), index=1
  ROOT %less = pred[] compare({sides}), direction={direction}
}}

ENTRY %main (given: s32[]) -> s32[] {{
  %given = s32[] parameter(0)
  %start = s32[] {start}
  %last = s32[] {bound}
  %begin = (s32[], s32[]) tuple(%start, %last)
  %loop = (s32[], s32[]) while(%begin), condition=%condition, body=%body
  ROOT %end = s32[] get-tuple-element(%loop), index=0
}}
"""


@pytest.mark.parametrize(
    ("start", "bound", "direction", "step", "turned", "trips"),
    [
        ("constant(0)", "constant(10)", "LT", "1", False, 10),
        ("constant(0)", "constant(10)", "GT", "1", True, 10),
        ("constant(1)", "constant(10)", "LE", "3", False, 4),
        ("constant(9)", "constant(0)", "GE", "-2", False, 5),
        ("constant(4)", "constant(4)", "LT", "1", False, 0),
        ("constant(0)", "constant(12)", "NE", "4", False, 3),
        ("constant(0)", "constant(10)", "LT", "-1", False, None),
        ("copy(%given)", "constant(10)", "LT", "1", False, None),
        ("constant(0)", "copy(%given)", "LT", "1", False, None),
        ("constant(0)", "constant(10)", "EQ", "1", False, None),
    ],
)
def test_the_trip_count_follows_from_counter_step_and_bound(  # noqa: PLR0913 - the loop and what it comes to
    start: str, bound: str, direction: str, step: str, *, turned: bool, trips: int | None
) -> None:
    module = parse_module(write(start, bound, direction, step, turned=turned))
    loop = next(while_loop for while_loop in module.walk() if while_loop.opcode == "while")
    assert Loops(module).count_trips(loop) == trips


def test_trip_counts_match_pythons_range() -> None:
    ways = {"LT": range.__len__}
    for distance in range(-5, 6):
        for step in (1, 2, 3):
            assert divide("LT", distance, step) == ways["LT"](range(0, distance, step))
            assert divide("GT", distance, -step) == len(range(0, distance, -step))
            assert divide("LE", distance, step) == len(range(0, distance + 1, step))
    assert divide("LT", 3, 0) is None
    assert divide("NE", 3, 2) is None


def test_the_runs_of_a_computation_that_others_share_are_counted_without_visiting_each_path() -> None:
    levels = 60
    parts = [f"f{levels} {{\n  ROOT x = f32[] parameter(0)\n}}"]
    for level in range(levels - 1, -1, -1):
        calls = f"  a = f32[] call(x), to_apply=f{level + 1}\n  ROOT b = f32[] call(a), to_apply=f{level + 1}"
        parts.append(f"{'ENTRY ' if level == 0 else ''}f{level} {{\n  x = f32[] parameter(0)\n{calls}\n}}")
    loops = Loops(parse_module("HloModule m\n\n" + "\n\n".join(parts)))
    assert loops.count_assumed_runs(f"f{levels}") == loops.count_runs(f"f{levels}") == 2**levels
