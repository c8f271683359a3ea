"""The estimates of programs without work, with branches, with open loops, and with redundant products."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import time
from xla_inspect.analysis.estimates import find_rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.questions.time import TimeEstimate

pytestmark = pytest.mark.usefixtures("all_targets")

TARGETS = ("h100", "tpu-v5e")
SQUARE = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16)


def branching(chosen: jax.Array, x: jax.Array) -> jax.Array:
    y: jax.Array = jax.lax.cond(chosen, lambda x: jnp.tanh(x @ x) @ x, jnp.tanh, x)
    return y


def repeating(times: jax.Array, x: jax.Array) -> jax.Array:
    _, y = jax.lax.while_loop(lambda state: state[0] > 0, lambda state: (state[0] - 1, state[1] @ x), (times, x))
    return y


def redundant(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x) + jnp.sin(x @ x) + jnp.cos(x @ x)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[jax.ShapeDtypeStruct, ...]]] = {
    "branches": (branching, (jax.ShapeDtypeStruct((), jnp.bool_), SQUARE)),
    "loop": (repeating, (jax.ShapeDtypeStruct((), jnp.int32), SQUARE)),
    "redundant": (redundant, (jax.ShapeDtypeStruct((4096, 4096), jnp.bfloat16),)),
    "no work": (lambda x: x, (jax.ShapeDtypeStruct((8,), jnp.float32),)),
    "no elements": (jnp.tanh, (jax.ShapeDtypeStruct((0, 8), jnp.float32),)),
}


@cache
def ask(name: str, target: str) -> TimeEstimate:
    function, example = PROGRAMS[name]
    return time(function, *example, target=target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_parts_of_an_odd_program_add_up_and_no_range_is_inverted(name: str, target: str) -> None:
    answer = ask(name, target)
    for parts in (answer.lines, answer.kinds):
        assert sum(part.seconds for part in parts) == pytest.approx(answer.seconds)
        assert [part for part in parts if not part.low_seconds <= part.seconds <= part.high_seconds] == []


@pytest.mark.parametrize("target", TARGETS)
def test_an_answer_speaks_of_branches_and_of_open_loops_only_if_there_are_any(target: str) -> None:
    words = ("For each conditional", "Each loop with an unknown number")
    for name, expected in (("branches", [True, False]), ("loop", [False, True]), ("redundant", [False, False])):
        notes = " ".join(ask(name, target).notes)
        assert [word in notes for word in words] == expected


@pytest.mark.parametrize("target", TARGETS)
def test_a_utilization_above_all_peaks_is_explained(target: str) -> None:
    answer = ask("redundant", target)
    assert (answer.utilization or 0) > 1
    assert (answer.model_flops, answer.hardware_flops) == (3 * 2 * 4096**3, 2 * 4096**3)
    assert "exceeds 100%, because the compiler removed matmuls" in " ".join(str(answer).split())
    assert "exceeds" not in str(ask("branches", target))


def test_an_option_that_was_set_is_not_reported_as_missing() -> None:
    assert "(it wrote none for these launches)" in ask("no work", "h100").notes[0]


def test_a_program_without_work_takes_the_time_of_a_launch_on_a_gpu() -> None:
    rates, answer = find_rates("h100"), ask("no elements", "h100")
    assert rates
    least = rates.floor + rates.gap
    assert (answer.low_seconds, answer.seconds, answer.high_seconds) == pytest.approx(
        (least.low, least.likely, least.high)
    )
    assert [line.limit for line in answer.lines] == ["launch"]
