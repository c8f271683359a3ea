"""The index of opcodes: the Python expression and the stages of each opcode."""

from __future__ import annotations

import pytest

from chapters.opcode_index import Sightings, find_sightings
from programs import opcodes, opcodes_across_devices
from xla_inspect import capture

CALLS = {"sine": "jnp.sin(y)", "conditional": "lax.cond(p, jnp.sin, jnp.cos, x)", "all-reduce": 'lax.psum(x, "i")'}


@pytest.fixture(scope="module")
def control() -> Sightings:
    """The opcodes of a program with a branch, a loop, a call and a barrier on the CPU."""
    function, example = opcodes.PROGRAMS["control"]
    return find_sightings([("control", capture(function, *example))], CALLS)


def test_an_instruction_is_found_from_the_expression_that_asked_for_it(control: Sightings) -> None:
    assert control["conditional"]["cpu"]["before"].expression == CALLS["conditional"]
    assert control["while"]["cpu"]["before"].instruction.name.startswith("while")


def test_of_several_instructions_the_one_from_the_wanted_expression_is_kept(control: Sightings) -> None:
    assert control["sine"]["cpu"]["before"].expression == "jnp.sin(y)"


def test_inside_a_called_function_the_expression_is_that_of_the_call() -> None:
    function, example = opcodes.PROGRAMS["arithmetic"]
    sightings = find_sightings([("arithmetic", capture(function, *example))], {})
    assert sightings["round-nearest-even"]["cpu"]["before"].expression == "jnp.round(x)"


def test_a_removed_opcode_names_the_pass(control: Sightings) -> None:
    stages = control["opt-barrier"]["cpu"]
    assert list(stages) == ["before"]
    assert stages["before"].removed_by == "cse_barrier_expander"
    assert stages["before"].made_by == ""


def test_an_added_opcode_names_the_pass(control: Sightings) -> None:
    stages = control["fusion"]["cpu"]
    assert list(stages) == ["after"]
    assert stages["after"].made_by != ""
    assert stages["after"].removed_by == ""


def test_an_opcode_is_listed_exactly_at_its_stages(control: Sightings) -> None:
    function, example = opcodes.PROGRAMS["control"]
    one = capture(function, *example)
    for stage, module in (("before", one.unoptimized_module), ("after", one.module)):
        assert {opcode for opcode, targets in control.items() if stage in targets["cpu"]} == set(module.opcode_counts())
    assert "all-reduce" not in control


def test_a_partitioned_program_keeps_its_expressions_and_drops_the_topology() -> None:
    function, example = opcodes_across_devices.PROGRAMS["collectives"]
    sightings = find_sightings([("collectives", capture(function, *example, target="cpu:4", mesh={"i": 4}))], CALLS)
    assert sightings["all-reduce"]["cpu"]["before"].expression == CALLS["all-reduce"]


@pytest.mark.usefixtures("all_targets")
def test_an_opcode_between_two_passes_is_found() -> None:
    function, example = opcodes_across_devices.PROGRAMS["collectives"]
    sightings = find_sightings([("collectives", capture(function, *example, target="tpu-v5e:2x2", mesh={"i": 4}))], {})
    assert list(sightings["all-gather-start"]["tpu-v5e"]) == ["between"]
    sighting = sightings["all-gather-start"]["tpu-v5e"]["between"]
    assert sighting.made_by != ""
    assert sighting.removed_by != ""
