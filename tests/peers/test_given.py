"""Equal inputs for all compilers: exported programs, fixed numbers and JAX's results."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import jax
import numpy as np
import pytest

from peers import given, records, stablehlo
from peers.stablehlo import export

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROGRAMS = list(given.SHAPES)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_peer_program_takes_the_arguments_of_its_namesake(name: str) -> None:
    example = importlib.import_module(f"programs.{name}").EXAMPLE
    assert [item.shape for item in example] == list(given.SHAPES[name].values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_jax_gives_the_results_that_all_are_compared_with(name: str) -> None:
    function = getattr(importlib.import_module(f"programs.{name}"), name)
    result = jax.jit(function)(*given.inputs(name).values())
    assert given.check(name, result) == given.BOUND


@pytest.mark.parametrize(
    ("name", "result", "message"),
    [
        (
            "layer",
            given.results("layer") + 2e-5,
            r"layer: the result is off by up to 2\.\de-05, which is more than 1e-05",
        ),
        ("gelu", np.full((4, 8), np.nan), "gelu: the result is off"),
        ("gelu", given.results("gelu").T, r"gelu: the result has shape \(8, 4\), where \(4, 8\) is right"),
    ],
    ids=["a little off", "no number", "another shape"],
)
def test_a_wrong_result_is_rejected(name: str, result: NDArray[np.float64], message: str) -> None:
    with pytest.raises(given.WrongResultError, match=message):
        given.check(name, result)


@pytest.mark.parametrize("name", export.PROGRAMS)
def test_the_stablehlo_is_what_this_jax_exports(name: str) -> None:
    text = export.text(name)
    assert stablehlo.read(name) == text, (
        "run `.venv/bin/python -m peers.stablehlo.export`, then `scripts/peers --update`"
    )


@pytest.mark.parametrize("peer", records.names())
def test_a_record_belongs_to_the_current_inputs(peer: str) -> None:
    assert records.read(peer).given == given.digest()


@pytest.mark.parametrize("peer", records.names())
def test_a_record_contains_all_programs(peer: str) -> None:
    record = records.read(peer)
    assert list(record.kernels) == PROGRAMS
    assert record.error_below == dict.fromkeys(PROGRAMS, given.BOUND)
