"""Launches are in order, with the loops and branches around them and how often they run."""

from __future__ import annotations

import pytest

from programs import control_flow, layer, transformer_block_grad
from xla_inspect import capture, capture_all
from xla_inspect.hlo.launches import list_launches

pytestmark = pytest.mark.usefixtures("all_targets")


def test_without_loops_the_launches_are_those_of_the_capture() -> None:
    for program, example in (
        (layer.layer, layer.EXAMPLE),
        (transformer_block_grad.transformer_block_grad, transformer_block_grad.EXAMPLE),
    ):
        for found in capture_all(program, *example).values():
            expected = [kernel.name for kernel in found.kernels if not kernel.kind.endswith("-done")]
            launches = list_launches(found)
            assert [launch.name for launch in launches] == expected
            assert {(launch.within, launch.runs) for launch in launches} == {((), 1)}


def test_a_body_runs_as_often_as_the_loop_and_the_condition_once_more() -> None:
    function, example = control_flow.PROGRAMS["fori_loop"]
    for target in ("cpu", "h100"):
        found = capture(function, *example, target=target)
        inside = [launch for launch in list_launches(found) if launch.within]
        loop = next(each for each in found.module.walk() if each.opcode == "while")
        assert {launch.within for launch in inside} == {(loop.name,)}
        bodies = loop.calls["body"]
        expected = [3 if launch.instruction and launch.instruction.computation in bodies else 4 for launch in inside]
        assert [launch.runs for launch in inside] == expected
        assert set(expected) == {3, 4}


def test_nobody_knows_how_often_a_branch_or_an_open_loop_runs() -> None:
    for name in ("cond", "while_loop"):
        function, example = control_flow.PROGRAMS[name]
        inside = [launch for launch in list_launches(capture(function, *example)) if launch.within]
        assert {launch.runs for launch in inside} == {None}


def test_what_an_asynchronous_thunk_starts_is_one_launch_of_the_loop_it_stands_in() -> None:
    function, example = control_flow.PROGRAMS["scan"]
    found = capture(function, *example, target="h100")
    launches = list_launches(found)
    started = [kernel.name for kernel in found.kernels if kernel.kind == "kAsyncStart"]
    sliced = [launch for launch in launches if launch.kernel and launch.kernel.kind == "kDynamicSliceFusion"]
    assert started
    assert not {launch.name for launch in launches} & set(started)
    assert [(launch.runs, launch.instruction is not None) for launch in sliced] == [(8, True)]
