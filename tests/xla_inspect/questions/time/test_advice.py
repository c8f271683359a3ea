"""The order of the parts of an estimate, its notes on missing figures, and the commands that it proposes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture
from xla_inspect.analysis.estimates import find_rates, make_cpu_rates, time_step
from xla_inspect.budgets import hold_call
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.time import estimate_time
from xla_inspect.units import format_seconds

if TYPE_CHECKING:
    from xla_inspect import Capture
    from xla_inspect.questions.time import TimeEstimate

pytestmark = pytest.mark.usefixtures("all_targets")


def train(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    def loss(weights: list[jax.Array]) -> jax.Array:
        hidden = jnp.tanh(x @ weights[0])
        return jnp.mean((hidden @ weights[1]).astype(jnp.float32) ** 2)

    return jax.tree.map(lambda weight, slope: weight - slope, weights, jax.grad(loss)(weights))


def deepen(weights: jax.Array, x: jax.Array) -> jax.Array:
    def run(weights: jax.Array) -> jax.Array:
        layer = jax.checkpoint(lambda h, w: (jnp.tanh(jnp.tanh(h @ w) @ w), None))
        return jnp.sum(jax.lax.scan(layer, x, weights)[0])

    return jax.grad(run)(weights)


def shape(*sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, jnp.bfloat16)


@cache
def compile_training(target: str) -> Capture:
    weights = [shape(512, 2048), shape(2048, 512)]
    return capture(
        train, weights, shape(2048, 512), target=target, mesh={"x": 8}, specs=([P(), P()], P("x")), passes=False
    )


@cache
def compile_layers() -> Capture:
    return capture(deepen, shape(4, 1024, 1024), shape(4096, 1024), target="h100", passes=False)


def say(answer: TimeEstimate) -> str:
    return " ".join(str(answer).replace("\\\n", "").split())


def test_the_longest_lines_and_kinds_come_first_and_as_many_as_requested() -> None:
    for program in (compile_training("h100:8"), compile_training("tpu-v5e:2x4"), compile_layers()):
        answer = estimate_time(program, rows=1)
        for parts in (answer.lines, answer.kinds):
            assert len(parts) > 1
            assert [part.seconds for part in parts] == sorted((part.seconds for part in parts), reverse=True)
            assert [part for part in parts if not part.low_seconds <= part.seconds <= part.high_seconds] == []
        assert f"By line of Python (the 1 longest of {len(answer.lines)})" in str(answer)
        assert str(answer).count("test_advice.py:") == 1


def test_the_commands_follow_from_the_kinds_of_work_that_take_long() -> None:
    large = capture(jnp.matmul, shape(4096, 4096), shape(4096, 4096), target="h100", passes=False)
    for program, commands in (
        (compile_training("h100:8"), {"collectives": True, "memory --try remat": False, "kernels --all": True}),
        (compile_layers(), {"collectives": False, "memory --try remat": True, "kernels --all": True}),
        (large, {"collectives": False, "memory --try remat": False, "kernels --all": False}),
    ):
        text = say(estimate_time(program, "a.py:f"))
        assert {command: f"xla-inspect {command} a.py:f" in text for command in commands} == commands


def test_the_time_of_a_combined_collective_belongs_to_the_line_of_its_first_operand() -> None:
    program = compile_training("h100:8")
    (exchange,) = find_exchanges("train", program, {}).exchanges
    waiting = [line for line in estimate_time(program).lines if line.limit == "interconnect"]
    assert [line.where for line in waiting] == [exchange.where]


def test_a_collective_without_published_links_counts_no_time_and_is_reported() -> None:
    rates = make_cpu_rates(bandwidth=1e10, products={"bf16": 1e11, "f32": 1e11}, elements=1e10, launch=1e-6)
    answer = estimate_time(compile_training("cpu:8"), rates=rates)
    assert (
        "No rates of this device's links are published, so the estimate leaves out the time of collectives."
        in answer.notes
    )
    assert "exposed collectives" not in {kind.text for kind in answer.kinds}
    assert answer.is_least


def test_a_custom_call_of_unknown_work_counts_its_traffic_and_is_reported() -> None:
    program = capture(jnp.linalg.cholesky, jax.ShapeDtypeStruct((512, 512), jnp.float32), target="h100", passes=False)
    answer = estimate_time(program)
    assert any("are not known, so only the memory traffic counts." in note for note in answer.notes)
    [unknown] = [kind for kind in answer.kinds if kind.limit == "unknown"]
    assert unknown.seconds > 0
    assert [share.is_least for share in (answer, unknown)] == [True, True]
    assert not any(kind.is_least for kind in answer.kinds if kind is not unknown)
    assert answer.time.may_be(1000 * answer.high_seconds)
    assert not answer.time.may_be(answer.low_seconds / 2)
    low, likely = format_seconds(answer.low_seconds), format_seconds(answer.seconds or 0)
    sentence = f"takes at least {low} (about {likely} for the known parts)"
    assert sentence in " ".join(str(answer).split())


@pytest.mark.parametrize("link", [1e9, 1e10, 3e10, 1e11, 3e11, 1e12, 1e13])
def test_the_likely_time_of_an_overlapped_collective_is_in_its_range(link: float) -> None:
    rates = find_rates("h100:8")
    assert rates
    for launch in time_step(compile_training("h100:8"), replace(rates, fabric=link)).launches:
        assert launch.total.low <= launch.total.likely <= launch.total.high


def once(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x)


def test_a_broken_bound_on_the_time_shows_the_lines_and_the_missing_figures() -> None:
    program = hold_call(once, shape(256, 256), target="h100")
    with pytest.raises(AssertionError) as raised:
        program.hold("time", "< 1 ns")
    assert program.measure("time").number == estimate_time(program.capture).seconds
    assert "test_advice.py:" in str(raised.value)
    assert estimate_time(program.capture).notes[0] in str(raised.value)
