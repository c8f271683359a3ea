"""The search for plans finds the best combination of changes, and says why the others cannot be used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jsonschema import Draft202012Validator

from xla_inspect import plan
from xla_inspect.analysis.estimates import list_options
from xla_inspect.answers import describe_json, write_json
from xla_inspect.errors import InspectError
from xla_inspect.questions.memory import explain_memory
from xla_inspect.questions.time import estimate_time
from xla_inspect.subject import Request, accumulate, list_choices, list_meshes, make_trial, read_function, set_policy
from xla_inspect.terminal import ANSWER_WIDTH

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P
EXAMPLE = (jax.ShapeDtypeStruct((8, 4096, 4096), jnp.float32), jax.ShapeDtypeStruct((31 << 15, 4096), jnp.bfloat16))
ARGUMENTS = {"specs": (P(None, "fsdp", "tensor"), P("fsdp"))}
def loss(weights, x):
    y, _ = jax.lax.scan(lambda x, w: (jnp.tanh(x @ w.astype(x.dtype)), None), x, weights)
    return jnp.mean(y.astype(jnp.float32) ** 2)
def step(weights, x):
    return weights - 0.1 * jax.grad(loss)(weights, x)
"""
TARGET = "h100:2"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"plan_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.mark.usefixtures("all_targets")
def test_the_best_of_all_combinations_is_proposed_and_the_file_is_unchanged(file: Path) -> None:
    text = file.read_bytes()
    subject = read_function(Request((f"{file}:step",)))
    subject.options = {**list_options(TARGET)}
    base = make_trial(subject, list_meshes(subject, TARGET)[:1]).capture(TARGET)
    seconds: dict[str, float | None] = {}
    reasons: dict[str, int] = {}
    for chosen in product(*list_choices(subject, TARGET, ("mesh", "donate"), base, {}).values()):
        trial = make_trial(subject, chosen)
        capture = trial.capture(TARGET)
        if explain_memory(capture, "").fits:
            seconds[trial.change] = estimate_time(capture).seconds
        else:
            reasons[trial.change] = explain_memory(capture, "").needed_bytes

    module = import_module(file.stem)
    answer = plan(module.step, *module.EXAMPLE, target=TARGET, try_="mesh,donate", **module.ARGUMENTS)
    assert file.read_bytes() == text
    assert answer.plans[0].seconds == min(filter(None, seconds.values()))
    # The search may end before it has compiled plans that cannot be faster.
    assert all(one.seconds == seconds[one.change] for one in answer.plans)
    assert answer.failures
    assert all(one.needed_bytes == reasons[one.change] for one in answer.failures)
    assert all(one.failure.startswith("needs ") for one in answer.failures)


@pytest.mark.usefixtures("all_targets")
def test_an_interrupt_shows_the_best_plan_so_far(file: Path) -> None:
    command = [sys.executable, "-m", "xla_inspect.commands", "plan", f"{file}:step", "--target", TARGET, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert any(" plans, " in line for line in process.stderr)
        # A terminal sends the interrupt to all processes of the command.
        os.killpg(process.pid, signal.SIGINT)
        answer = json.loads(process.stdout.read())
    assert answer["ending"] == "interrupted"
    assert answer["plans"][0]["fits"] is True
    assert process.returncode == 0


@pytest.mark.usefixtures("all_targets")
def test_a_program_without_mesh_axes_lists_the_changes_that_were_tried() -> None:
    answer = plan(
        lambda w, x: w - jnp.tanh(x @ w).sum(),
        *(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((64, 64), (8, 64))),
        try_="mesh,specs,donate",
    )
    assert answer.tried == {"donate": 2}
    assert answer.absent == ("mesh", "specs")
    assert [one.change for one in answer.plans if one.options] == ["donate argument 0"]
    text = " ".join(str(answer).split())
    assert "Number of choices for each kind of change: donate (2). All combinations were compared." in text
    assert "Not tried: mesh, because no other mesh has these devices and axes" in text
    assert "no large argument is sharded over a mesh axis (--in-spec shards one)" in text
    assert [line for line in str(answer).splitlines() if len(line) > ANSWER_WIDTH] == []
    Draft202012Validator(describe_json(type(answer))).validate(json.loads(write_json(answer)))


@pytest.mark.usefixtures("all_targets")
def test_the_time_of_a_plan_has_no_upper_end_if_the_operations_of_a_call_are_not_known() -> None:
    square = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    answer = plan(jnp.linalg.cholesky, square, target="h100", try_="donate")
    assert {one.is_least for one in answer.plans} == {True}
    assert "or more" in " ".join(str(answer).split())


def test_microbatches_do_not_change_the_gradient() -> None:
    weights, x = jnp.arange(12.0).reshape(3, 4) / 7, jnp.arange(24.0).reshape(8, 3) / 5

    def loss(weights: jax.Array, x: jax.Array, power: int) -> tuple[jax.Array, jax.Array]:
        y = jnp.sin(x @ weights)
        return jnp.mean(y**power), jnp.max(y, initial=0) * 0

    def step(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(loss, has_aux=True)(weights, x, 2)[1], jax.grad(loss, has_aux=True)(weights, x, 2)[0]

    whole = step(x)
    with accumulate(4):
        parts = step(x)
        lengths = {
            equation.params["length"] for equation in jax.make_jaxpr(step)(x).eqns if "length" in equation.params
        }
    assert lengths == {4}
    for one, other in zip(whole, parts, strict=True):
        assert jnp.allclose(one, other, atol=1e-6)
    with pytest.raises(InspectError, match="no common batch size that is divisible by 3"), accumulate(3):
        step(x)
    with pytest.raises(InspectError, match="neither"), accumulate(2):
        jnp.sin(x)


def test_a_checkpoint_gets_another_policy() -> None:
    def count_sines() -> int:
        return str(jax.make_jaxpr(jax.grad(jax.checkpoint(curve)))(1.0)).count("sin ")

    def curve(x: jax.Array) -> jax.Array:
        return jnp.sin(jnp.sin(x))

    recomputing = count_sines()
    with set_policy("everything_saveable"):
        saving = count_sines()
    assert saving < recomputing
    assert count_sines() == recomputing
