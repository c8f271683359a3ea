"""All compilers are given the same: what JAX exports, numbers that do not change, and results that JAX has too."""

from __future__ import annotations

import importlib

import jax
import numpy as np
import pytest

from peers import given, records, stablehlo
from peers.stablehlo import export

PROGRAMS = list(given.SHAPES)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_takes_what_the_one_of_its_name_takes(name: str) -> None:
    example = importlib.import_module(f"programs.{name}").EXAMPLE
    assert [each.shape for each in example] == list(given.SHAPES[name].values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_gives_the_results_that_all_are_compared_with(name: str) -> None:
    function = getattr(importlib.import_module(f"programs.{name}"), name)
    result = jax.jit(function)(*given.inputs(name).values())
    assert given.check(name, result) == given.BOUND


def test_a_result_that_is_a_little_off_is_refused() -> None:
    with pytest.raises(
        given.WrongResultError, match=r"layer: the result is off by up to 2\.\de-05, which is more than 1e-05"
    ):
        given.check("layer", given.results("layer") + 2e-5)


def test_a_result_that_is_no_number_is_refused() -> None:
    with pytest.raises(given.WrongResultError, match="gelu: the result is off"):
        given.check("gelu", np.full((4, 8), np.nan))


def test_a_result_of_another_shape_is_refused() -> None:
    with pytest.raises(given.WrongResultError, match=r"gelu: the result has shape \(8, 4\), where \(4, 8\) is right"):
        given.check("gelu", given.results("gelu").T)


@pytest.mark.parametrize("name", export.PROGRAMS)
def test_the_stablehlo_is_what_this_jax_exports(name: str) -> None:
    found = export.text(name)
    assert stablehlo.read(name) == found, (
        "run `.venv/bin/python -m peers.stablehlo.export`, then `scripts/peers --update`"
    )


@pytest.mark.parametrize("peer", records.names())
def test_a_record_is_of_the_numbers_that_are_given_now(peer: str) -> None:
    assert records.read(peer).given == given.digest()


@pytest.mark.parametrize("peer", records.names())
def test_a_record_speaks_of_all_programs(peer: str) -> None:
    record = records.read(peer)
    assert list(record.kernels) == PROGRAMS
    assert record.error_below == dict.fromkeys(PROGRAMS, given.BOUND)
