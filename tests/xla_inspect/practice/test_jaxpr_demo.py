"""Phases 2 and 5: statements about jaxprs are counted in them."""

from __future__ import annotations

import re

import jax
import pytest

from xla_inspect import capture, jaxpr_demo
from xla_inspect.practice import models
from xla_inspect.practice.equations import Equations
from xla_inspect.practice.marking.exercises import find_exercises
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.marking.verdict import RIGHT


@pytest.mark.parametrize(("arguments", "phases"), [([], ["2"]), (["--phase", "2"], ["2"]), (["--phase", "5"], ["5"])])
def test_the_requested_phases_are_shown(
    arguments: list[str], phases: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert jaxpr_demo.main(arguments) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^Phase (\d) of 5", out, re.MULTILINE) == phases
    pointer = "This command shows it:\n\n    uv run python -m xla_inspect.jaxpr_demo --phase 5\n"
    assert out.rstrip().endswith(pointer.rstrip()) == (phases == ["2"])


def test_phase_5_follows_phase_2_once_the_exercises_of_phase_5_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = find_exercises("transforms")
    for exercise in others:
        Logbook().note(exercise, RIGHT)
    for phases in (["2"], ["2", "5"]):
        assert jaxpr_demo.main([]) == 0
        assert re.findall(r"^Phase (\d) of 5", capsys.readouterr().out, re.MULTILINE) == phases
        Logbook().note(first, RIGHT)


def test_the_jaxprs_are_those_of_jax(capsys: pytest.CaptureFixture[str]) -> None:
    assert (jaxpr_demo.main(["--phase", "2"]), jaxpr_demo.main(["--phase", "5"])) == (0, 0)
    out = capsys.readouterr().out
    example = (models.PARAMS, models.X, models.Y)
    for jaxpr in (
        jax.make_jaxpr(models.mlp)(models.PARAMS, models.X),
        jax.make_jaxpr(jax.grad(models.loss))(*example),
        jax.make_jaxpr(jax.vmap(models.mlp, in_axes=(None, 0)))(models.PARAMS, models.X),
    ):
        assert "".join(f"    {line}\n" for line in str(jaxpr).splitlines()) in out


def test_unused_parts_of_the_gradient_are_removed_before_compilation() -> None:
    example = (models.PARAMS, models.X, models.Y)
    gradient = jax.grad(models.loss)
    equations = Equations(gradient, *example)
    assert (equations.unused, equations.primitives["reduce_sum"]) == (3, 5)
    assert capture(gradient, *example).stablehlo.count("stablehlo.reduce(") == 4


def test_grad_and_vmap_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert jaxpr_demo.main(["--phase", "5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The loss has 2 matmuls. How many does its gradient have?" in out
    assert "It is 5: in the backward pass, " in out
    assert "3 of the equations compute only the loss itself, " in out
    assert "This jaxpr has 5 equations. How many does the mapped one have?" in out
    assert "It is 7: there is no loop" in out
    assert re.search(r"all 11 34 23", out)
