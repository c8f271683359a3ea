"""The lines whose estimated time differs between two programs, and the cautions about small differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.analysis.estimates import Estimate
from xla_inspect.questions.diff.times_by_line import LineTime, TimeChange, compare_times, tell_times
from xla_inspect.questions.time import estimate_time

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("all_targets")

EXAMPLE = jax.ShapeDtypeStruct((1024, 1024), jnp.bfloat16)


def test_a_line_with_the_same_text_in_another_file_is_the_same_line(tmp_path: Path) -> None:
    captures = []
    for name, last in (("old", "z"), ("new", "jnp.sin(z @ x)")):
        path = tmp_path / f"{name}.py"
        path.write_text(f"def f(x):\n    z = jnp.tanh(x @ x)\n    return {last}\n", encoding="utf-8")
        scope: dict[str, Any] = {"jnp": jnp}
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), scope)  # noqa: S102 - a file with a line of its own
        captures.append(capture(scope["f"], EXAMPLE, target="h100", passes=False))
    times = compare_times(*captures)
    assert times
    assert [(line.where, line.text) for line in times.lines] == [("new.py:3", "return jnp.sin(z @ x)")]


def once(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x)


def step(x: jax.Array) -> jax.Array:
    w = x
    x = jnp.concatenate([x] * 8)
    y = jnp.tanh(x @ w)
    x = y[:128]
    y = jnp.tanh(x @ w)
    return y  # noqa: RET504 - its line has another text


def test_the_place_of_several_lines_with_one_text_is_that_of_the_longest() -> None:
    old, new = (capture(function, EXAMPLE, target="h100", passes=False) for function in (once, step))
    times = compare_times(old, new)
    assert times
    long = max(estimate_time(new).lines, key=lambda line: line.seconds)
    assert (times.lines[0].where, times.lines[0].text) == (long.where, "y = jnp.tanh(x @ w)")


CAUTIONS = (
    "the difference may be an error of the estimates.",
    "this may be an error of the estimates, too",
    "since its ranges overlap",
)


@pytest.mark.parametrize(
    ("new_step", "new_line", "words"),
    [
        (Estimate(8, 11, 14), Estimate(1.5, 3, 4.5), CAUTIONS[:2]),
        (Estimate(30, 40, 50), Estimate(1.5, 3, 4.5), CAUTIONS[2:]),
        (Estimate(30, 40, 50), Estimate(20, 30, 40), ()),
        (Estimate(1, 2, 3, is_least=True), Estimate(20, 30, 40), CAUTIONS[:1]),
    ],
)
def test_the_noise_of_a_step_and_of_its_slowest_line_are_told_apart(
    new_step: Estimate, new_line: Estimate, words: tuple[str, ...]
) -> None:
    lines = (
        LineTime("a.py:3", "faster()", Estimate(50, 60, 70), Estimate(1, 2, 3)),
        LineTime("a.py:2", "slower()", Estimate(1, 2, 3), new_line),
    )
    text = str(next(tell_times(TimeChange(LineTime("", "", Estimate(7, 10, 13), new_step), lines, ""), ("a", "b"))))
    assert "The line that got slower the most: a.py:2 slower()" in text
    assert tuple(caution for caution in CAUTIONS if caution in text) == words
