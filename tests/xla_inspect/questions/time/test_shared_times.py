"""All answers that show a time show the estimate that `xla-inspect time` gives for the same capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.analysis.estimates import Estimate
from xla_inspect.answers import say_time, show_range
from xla_inspect.questions.collectives import find_exchanges
from xla_inspect.questions.diff import compare_captures
from xla_inspect.questions.summary import summarize
from xla_inspect.questions.time import estimate_time
from xla_inspect.units import format_seconds

if TYPE_CHECKING:
    from xla_inspect import Capture

pytestmark = pytest.mark.usefixtures("all_targets")


def find_time(program: Capture) -> Estimate:
    answer = estimate_time(program)
    assert answer.seconds
    return Estimate(answer.low_seconds, answer.seconds, answer.high_seconds)


@pytest.fixture(scope="module")
def programs() -> dict[str, Capture]:
    return {target: capture(scanned, *EXAMPLE, target=target) for target in ("cpu", "h100", "tpu-v5e")}


def test_the_summary_compares_the_times_of_the_targets(programs: dict[str, Capture]) -> None:
    answer = summarize("scanned", [*programs.values()], "scanned.py:scanned")
    times = [target.time for target in answer.targets]
    assert times == [None, *(find_time(programs[target]) for target in ("h100", "tpu-v5e"))]
    lines = [" ".join(line.split()) for line in str(answer).splitlines()]
    estimates = [time for time in times if time]
    assert f"time of a step {' '.join(format_seconds(time.likely) for time in estimates)}" in lines
    assert f"range {' '.join(map(show_range, estimates))}" in lines
    # Only the H100's compiler was not asked for its own estimates, which one sentence says.
    assert " ".join(lines).count("The ranges on NVIDIA H100 may be wider") == 1
    assert "time" not in str(summarize("scanned", [programs["cpu"]], "")).replace("compile time", "")


def once(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x)


def repeated(x: jax.Array) -> jax.Array:
    # The line of the first product has another number than above, but the same text.
    y = jnp.sin(x) @ x
    for _ in range(9):
        y = jnp.tanh(y @ x)
    return jnp.tanh(x @ x) + y


@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_a_difference_names_the_line_that_got_slower_most(target: str) -> None:
    example = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16)
    old, new = (capture(function, example, target=target, passes=False) for function in (once, repeated))
    answer = compare_captures(old, new, ("old", "new"))
    assert answer.times is not None
    assert (answer.times.step.left, answer.times.step.right) == (find_time(old), find_time(new))
    first, *others = answer.times.lines
    assert (first.text, first.left) == ("y = jnp.tanh(y @ x)", Estimate())
    assert {line.text for line in others if line.left.likely} <= {"return jnp.tanh(x @ x)"}
    text = " ".join(str(answer).split())
    assert f"Time of a step: {say_time(find_time(old))} -> {say_time(find_time(new))}" in text
    assert f"The line that got slower the most: {first.where} {first.text}, 0 -> " in text
    # Ten products take longer than one in each model, but a launch more or less may be noise.
    assert "error of the estimates" not in text


def shifted(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x) + jnp.sum(x)


def test_a_small_difference_may_be_noise_and_a_cpu_has_no_times() -> None:
    example = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16)
    for target in ("h100", "cpu"):
        sides = [capture(function, example, target=target, passes=False) for function in (once, shifted)]
        text = " ".join(str(compare_captures(*sides, ("old", "new"))).split())
        assert ("The ranges overlap, so the difference may be an error of the estimates." in text) == (target == "h100")
        assert ("Time" in text) == (target == "h100")


def exchange(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.tanh(jnp.tanh(x @ w) @ w.T)


@pytest.mark.parametrize("target", ["tpu-v5e:2x4", "h100:8", "cpu:8"])
def test_a_step_waits_for_its_collectives_as_long_as_the_kind_of_work_says(target: str) -> None:
    x, w = jax.ShapeDtypeStruct((256, 1024), jnp.bfloat16), jax.ShapeDtypeStruct((1024, 4096), jnp.bfloat16)
    program = capture(exchange, x, w, target=target, mesh={"x": 8}, specs=(P("x"), P(None, "x")), passes=False)
    answer = find_exchanges("exchange", program, {})
    times = [one.time for one in answer.exchanges if one.time]
    text = " ".join(str(answer).split())
    if target == "cpu:8":
        assert answer.exchanges
        assert not times
        assert "waits" not in text
        return
    (kind,) = (kind for kind in estimate_time(program).kinds if kind.text == "exposed collectives")
    total = sum(times, Estimate())
    assert len(times) == len(answer.exchanges) == kind.launches
    assert total.likely == pytest.approx(kind.seconds)
    assert f"A step waits {say_time(total)} for them" in text
    assert f"A step waits {say_time(times[0])} for it" in text
    assert "not known here" not in text
