"""What may save memory is tried as it is traced: the reader's code stays, and what it comes to is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jax
import pytest

from xla_inspect.answers import explain_memory
from xla_inspect.commands import run_here
from xla_inspect.subject import KINDS, Request, list_trials, read_function

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
import jax, jax.numpy as jnp
N = 1024
EXAMPLE = (jax.ShapeDtypeStruct((6, 256, 256), jnp.float32), jax.ShapeDtypeStruct((N, 256), jnp.float32))
def block(x, w):
    for _ in range(3):
        x = jnp.tanh(x @ w) * jax.nn.sigmoid(x)
    return x
def loss(weights, x):
    y, _ = jax.lax.scan(lambda x, w: (block(x, w), None), x, weights)
    return jnp.sum(y * y)
def step(weights, x):
    return weights - 0.1 * jax.grad(loss)(weights, x)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / f"trial_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.usefixtures("all_targets")
def test_what_is_saved_for_the_backward_pass_is_less_with_checkpoints_and_the_code_is_as_it_was(file: Path) -> None:
    subject = read_function(Request((f"{file}:step",)))
    before = subject.capture("h100")
    assert subject.call is not None
    functions = dict(vars(__import__(subject.call.function.__module__)))
    needed, scan = {}, jax.lax.scan
    for trial in list_trials(subject, KINDS, before):
        with trial.applied():
            needed[trial.change] = explain_memory(trial.subject.capture("h100"), "").needed_bytes
    assert jax.lax.scan is scan
    whole = explain_memory(before, "").needed_bytes
    assert [*needed] == [
        "donate argument 0",
        "jax.checkpoint around the body of each jax.lax.scan",
        f"jax.checkpoint around block ({file.name})",
        f"jax.checkpoint around loss ({file.name})",
        "a batch of 512 in the place of 1024",
    ]
    checkpointed = [size for change, size in needed.items() if "scan" in change or "block" in change]
    assert max(checkpointed) < 0.7 * whole
    assert needed["a batch of 512 in the place of 1024"] < 0.7 * whole
    assert dict(vars(__import__(subject.call.function.__module__))) == functions


@pytest.mark.usefixtures("all_targets")
def test_the_command_tells_what_each_change_comes_to(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(["memory", f"{file}:step", "--target", "h100", "--try", "batch", "--json"]) == 0
    [trial] = json.loads(capsys.readouterr().out)["trials"]
    assert (trial["change"], trial["fits"], trial["note"]) == ("a batch of 512 in the place of 1024", True, "")


def test_there_is_nothing_else_to_try(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(["memory", f"{file}:step", "--target", "cpu", "--try", "magic"]) == 2
    assert "there is no 'magic' to try, only donate, remat, batch, and all" in capsys.readouterr().err
