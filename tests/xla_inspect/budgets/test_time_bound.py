"""Bounds on the estimated time of a step, in tests and in files of budgets."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.analysis.estimates import Estimate
from xla_inspect.answers import show_range
from xla_inspect.budgets import BrokenError, Budget, check_budget, hold_call
from xla_inspect.budgets.claim import Claim
from xla_inspect.errors import InspectError
from xla_inspect.questions.time import estimate_time
from xla_inspect.targets import title
from xla_inspect.units import format_seconds

ROWS = jax.ShapeDtypeStruct((256, 64), jnp.float32)


def attend(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x @ x.T)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_a_bound_on_the_time_applies_to_the_likely_value_and_shows_the_range(target: str) -> None:
    program = hold_call(attend, ROWS, target=target)
    expected = estimate_time(program.capture)
    assert program.time.number == expected.seconds
    assert program.time < "10 s"
    assert program.time > "1 ns"
    span = Estimate(expected.low_seconds, program.time.number, expected.high_seconds)
    text = f"{format_seconds(program.time.number)} ({show_range(span)})"
    with pytest.raises(BrokenError) as raised:
        program.hold("time", "< 1 ns")
    message = str(raised.value)
    assert f"time of attend on {title(target)} is {text}, but must be < 1 ns" in message
    assert "test_time_bound.py:" in message
    assert "an estimate, not a measurement" in message
    budget = Budget("attend", "", (target,), claims=(Claim("time", "< 10 s"),))
    [row], _ = check_budget(budget, program.subject, {})
    assert (row.outcome, row.measured) == ("holds", text)
    assert program.make_record().numbers["time"] == expected.seconds


def test_a_cpu_has_no_time_to_bound_or_to_record() -> None:
    with pytest.raises(InspectError, match="attend on CPU has no time: The rates at which a CPU"):
        hold_call(attend, ROWS).time < "10 s"  # noqa: B015 - what is compared is the point
    assert "time" not in hold_call(attend, ROWS).make_record().numbers
