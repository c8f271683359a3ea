"""The budget of the search, its choices, and its answers about programs that are too large or take no time."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture, plan
from xla_inspect.questions.plan import plan_search
from xla_inspect.subject import Call, Subject, list_choices, make_trial

if TYPE_CHECKING:
    from xla_inspect.questions.plan.finding import StepPlan

pytestmark = pytest.mark.usefixtures("all_targets")

SQUARE = jax.ShapeDtypeStruct((64, 64), jnp.float32)


def train(w: jax.Array, x: jax.Array) -> jax.Array:
    return w - jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)


def repeat(x: jax.Array, donate: int = 1) -> jax.Array:
    for _ in range(donate):
        x = jnp.tanh(x @ x)
    return x


def say(answer: StepPlan) -> str:
    return " ".join(str(answer).split())


def test_the_budget_counts_the_processor_time_of_the_process_and_its_children() -> None:
    begin = plan_search.count_seconds()
    time.sleep(0.3)
    assert plan_search.count_seconds() - begin < 0.2
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.4: pass"], check=True)
    assert 0.35 < plan_search.count_seconds() - begin < 2


def test_a_spent_budget_leaves_the_program_as_written() -> None:
    answer = plan(train, SQUARE, SQUARE, minutes=0)
    assert (answer.ending, answer.compiled, [one.change for one in answer.plans]) == ("budget", 1, ["as written"])
    assert "the best plan is the program as written. A step takes about" in say(answer)
    assert "The search compiled 1 of 8 possible plans." in say(answer)
    assert "it used up its processor time; --minutes allows more" in say(answer)


def test_the_budget_is_in_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0, 14)
    monkeypatch.setattr(plan_search, "count_seconds", lambda: float(next(clock)))
    answer = plan(train, SQUARE, SQUARE, minutes=1)
    # The clock is read before and after each compile, so two compiles fit into a minute after the first one.
    assert (answer.ending, len(answer.plans) + len(answer.failures)) == ("budget", 3)


def test_a_program_that_cannot_fit_is_described_with_its_need_and_larger_arguments_are_not_compiled() -> None:
    example = [jax.ShapeDtypeStruct(sizes, jnp.bfloat16) for sizes in ((200_000, 300_000), (8, 200_000))]
    answer = plan(train, *example)
    assert not answer.holds
    assert answer.compiled == 1
    assert {one.needed_bytes for one in answer.failures[1:]} == {2 * (200_000 * 300_000 + 8 * 200_000)}
    assert "no compiled plan fits. The program as written takes" in say(answer)
    assert "The search compiled 1 of 8 possible plans." in say(answer)
    assert "its arguments alone need 112 GiB, so it was not compiled" in say(answer)


def test_a_plan_that_takes_no_time_is_the_best_one() -> None:
    answer = plan(lambda x: x, SQUARE, target="tpu-v5e", try_="donate")
    assert [(one.seconds, one.change) for one in answer.plans[:1]] == [(0, "donate argument 0")]
    assert len(answer.plans) == 2
    assert "A step takes about 0, and" in say(answer)


def test_a_parameter_with_the_name_of_a_kind_of_change_does_not_replace_it() -> None:
    answer = plan(repeat, SQUARE, try_="donate", vary={"donate": [2]})
    assert answer.tried == {"donate": 2, "parameter donate": 2}
    assert {one.change for one in answer.plans} >= {"as written", "donate argument 0", "donate=2"}
    assert answer.plans[0].change == "as written"
    assert [one.seconds for one in answer.plans] == sorted(one.seconds or 0 for one in answer.plans)


def scale(x: jax.Array, factor: float = 2.0) -> jax.Array:
    return jnp.tanh(x @ x) * factor


def test_equal_programs_are_listed_once_and_the_shortest_change_of_equally_fast_ones_is_the_first() -> None:
    answer = plan(scale, SQUARE, try_="donate", vary={"factor": [2.0, 3.0, 40.0]})
    changes = [one.change for one in answer.plans]
    assert "factor=2.0" not in [*changes, *(one.change for one in answer.failures)]
    assert len({one.seconds for one in answer.plans}) < len(changes)
    times = [(one.seconds, len(one.change)) for one in answer.plans]
    assert times == sorted(times)  # type: ignore[type-var]  # each plan has a time
    assert changes.index("factor=3.0") < changes.index("factor=40.0")


def test_a_change_that_always_fails_is_tried_twice() -> None:
    answer = plan(scale, SQUARE, try_="microbatch", vary={"factor": [3.0, 4.0, 5.0]})
    for parts in (2, 4, 8):
        assert len([one for one in answer.failures if one.change.startswith(f"{parts} microbatches")]) == 2
    assert "calls neither jax.grad nor jax.value_and_grad" in answer.failures[0].failure


def split(x: jax.Array, chunks: int = 16) -> jax.Array:
    return jnp.stack([jnp.tanh(part.T @ part) for part in jnp.split(x, chunks)])


def test_an_edit_and_the_command_for_the_rest_of_the_plan_are_shown() -> None:
    answer = replace(plan(split, SQUARE, try_="parameter"), asked="model.py:split --target h100")
    assert answer.plans[0].edits == ("call the function with chunks=1",)
    assert "To edit your code for the best plan: call the function with chunks=1." in say(answer)
    both = replace(answer.plans[0], options="--donate=0")
    text = say(replace(answer, plans=(both,)))
    assert "To see the time of the best plan, without its edits of your code, by line:" in text
    assert "xla-inspect time model.py:split --target h100 --donate=0" in text


def test_only_the_chosen_argument_loses_an_axis_of_its_spec() -> None:
    call = Call(jnp.matmul, (SQUARE, SQUARE), {}, {"specs": (P("a", "b"), P("a"))})
    subject = Subject("matmul", call)
    program = capture(jnp.matmul, SQUARE, SQUARE, target="h100", passes=False)
    choices = list_choices(subject, "h100:4", ("mesh", "specs"), program, {})
    assert [choice.option for choice in choices["mesh"]] == ["--mesh=a=4,b=1", "--mesh=a=2,b=2", "--mesh=a=1,b=4"]
    changed = {}
    for choice in choices["specs"][1:]:
        trial = make_trial(subject, [choices["mesh"][1], choice]).subject.call
        assert trial
        changed[choice.words] = [tuple(leaf.sharding.spec) for leaf in trial.args]
    assert changed == {
        "argument 0 not sharded over 'a'": [(None, "b"), ("a",)],
        "argument 0 not sharded over 'b'": [("a", None), ("a",)],
        "argument 1 not sharded over 'a'": [("a", "b"), (None,)],
    }


def test_a_mesh_of_one_axis_on_all_devices_has_no_other_choice() -> None:
    answer = plan(train, SQUARE, SQUARE, target="h100:4", mesh={"data": 4}, try_="mesh", minutes=0)
    assert answer.absent == ("mesh",)
    assert "no other mesh has these devices and axes" in say(answer)
    assert "no mesh axes" not in say(answer)


def test_the_progress_names_the_change_before_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    plan(scale, SQUARE, try_="donate,microbatch")
    lines = [line.partition(" s: ")[2] for line in capsys.readouterr().err.splitlines() if " plans, " in line]
    assert any(line.startswith("donate argument 0: ") and line.endswith(", fits") for line in lines)
    assert "2 microbatches: the program calls neither jax.grad nor jax.value_and_grad" in lines
