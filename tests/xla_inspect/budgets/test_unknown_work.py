"""Numbers without the operations of library calls that are not known, and bounds on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.budgets import BrokenError, hold_call
from xla_inspect.errors import InspectError

SQUARE = jax.ShapeDtypeStruct((64, 64), jnp.float32)


def test_the_operations_of_a_step_name_the_calls_that_they_lack() -> None:
    program = hold_call(jnp.linalg.cholesky, SQUARE)
    assert str(program.flops).endswith("flops (without lapack_spotrf_ffi)")
    assert "without" not in str(hold_call(jnp.tanh, SQUARE).flops)


def test_a_bound_that_the_unknown_operations_of_a_call_can_break_is_not_kept() -> None:
    program = hold_call(jnp.linalg.cholesky, SQUARE)
    counted = program.flops.number
    assert program.flops > counted / 2
    assert not program.flops < counted / 2
    assert not program.flops < counted
    assert program.flops >= counted
    for wrong in (f"< {10 * counted}", f"<= {counted}", f"> {10 * counted}"):
        with pytest.raises(InspectError, match=r"known part is .* \(without lapack_spotrf_ffi\), so .* can be neither"):
            program.hold("flops", wrong)
    with pytest.raises(InspectError, match="can be neither confirmed nor rejected"):
        assert program.flops < 10 * counted
    assert program.flops <= hold_call(jnp.linalg.cholesky, SQUARE).flops


def test_a_bound_by_the_record_compares_the_known_parts() -> None:
    program = hold_call(jnp.linalg.cholesky, SQUARE)
    counted = program.flops.number
    program.hold_number(program.flops, "recorded + 5 %", counted)
    with pytest.raises(BrokenError):
        program.hold_number(program.flops, "recorded + 5 %", counted / 2)


@pytest.mark.usefixtures("all_targets")
def test_a_bound_on_the_time_of_an_unknown_call_is_not_kept() -> None:
    program = hold_call(jnp.linalg.cholesky, SQUARE, target="h100")
    with pytest.raises(InspectError, match=r"time of .* is not known in full: the known part is .* or more\)"):
        program.hold("time", "< 1 s")
