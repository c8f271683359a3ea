"""Phases 2 and 5: statements about jaxprs are counted in them."""

from __future__ import annotations

import re

import jax
import pytest

from xla_inspect import capture, jaxpr_demo
from xla_inspect.practice import models
from xla_inspect.practice.equations import Equations


@pytest.mark.parametrize(("arguments", "phases"), [([], ["2"]), (["--phase", "2"], ["2"]), (["--phase", "5"], ["5"])])
def test_the_requested_phases_are_shown(
    arguments: list[str], phases: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert jaxpr_demo.main(arguments) == 0
    assert re.findall(r"^Phase (\d) of 5", capsys.readouterr().out, re.MULTILINE) == phases


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
