"""Changes that may save memory are applied during tracing, without touching the user's code."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import pytest

from xla_inspect.commands import run_here
from xla_inspect.questions.memory import explain_memory
from xla_inspect.subject import KINDS, Request, Subject, Trial, list_trials, read_function

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
def test_checkpoints_reduce_saved_values_without_changing_the_users_code(file: Path) -> None:
    subject = read_function(Request((f"{file}:step",)))
    before = subject.capture("h100")
    assert subject.call is not None
    functions = dict(vars(__import__(subject.call.function.__module__)))
    saved_sizes, scan = {}, jax.lax.scan
    for trial in list_trials(subject, KINDS, before):
        with trial.applied():
            saved_sizes[trial.change] = explain_memory(trial.subject.capture("h100"), "").needed_bytes
    assert jax.lax.scan is scan
    whole = explain_memory(before, "").needed_bytes
    assert [*saved_sizes] == [
        "donate argument 0",
        "jax.checkpoint around the body of each jax.lax.scan",
        f"jax.checkpoint around block ({file.name})",
        f"jax.checkpoint around loss ({file.name})",
        "a batch of 512 in the place of 1024",
    ]
    checkpointed = [size for change, size in saved_sizes.items() if "scan" in change or "block" in change]
    assert max(checkpointed) < 0.7 * whole
    assert saved_sizes["a batch of 512 in the place of 1024"] < 0.7 * whole
    assert dict(vars(__import__(subject.call.function.__module__))) == functions


@pytest.mark.usefixtures("all_targets")
def test_the_command_reports_the_effect_of_each_change(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(["memory", f"{file}:step", "--target", "h100", "--try", "batch", "--json"]) == 0
    [trial] = json.loads(capsys.readouterr().out)["trials"]
    assert (trial["change"], trial["fits"], trial["note"]) == ("a batch of 512 in the place of 1024", True, "")


def test_there_is_nothing_else_to_try(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(["memory", f"{file}:step", "--target", "cpu", "--try", "magic"]) == 2
    assert "there is no 'magic' to try, only donate, remat, batch, vmem, schedule, and all" in capsys.readouterr().err


EARLY = """
import jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((512, 512), jnp.float32), jax.ShapeDtypeStruct((8, 512, 512), jnp.bfloat16))
def unrolled(x, weights):
    for layer in range(8):
        x = jnp.tanh(x @ weights[layer].astype(jnp.float32))
    return x
"""


@pytest.mark.usefixtures("all_targets")
def test_the_memory_scheduler_of_the_cpu_delays_values_and_a_gpu_has_none(tmp_path: Path) -> None:
    path = tmp_path / f"early_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(EARLY, encoding="utf-8")
    subject = read_function(Request((f"{path}:unrolled",)))
    usual = subject.capture("cpu")
    [trial] = list_trials(subject, ["schedule"], usual)
    before, after = (explain_memory(capture, "early.py:unrolled") for capture in (usual, trial.capture("cpu")))
    assert [cause.kind for cause in before.causes] == ["schedule"]
    assert "--try schedule" in str(before)
    assert (after.causes, after.needed_bytes < 0.7 * before.needed_bytes) == ((), True)
    graphics = subject.capture("h100")
    assert not [*list_trials(subject, ["schedule"], graphics)]
    [cause] = explain_memory(graphics, "").causes
    assert cause.remedy.endswith("no option of XLA for this target is known to change the order")


LAID = """
import jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((64, 32), jnp.float32), jax.ShapeDtypeStruct((32, 64), jnp.float32))
def step(x, w):
    y = jax.lax.optimization_barrier(x @ w)
    return jnp.tanh(y)
"""


@pytest.fixture
def barrier_subject(tmp_path: Path) -> Subject:
    path = tmp_path / f"laid_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(LAID, encoding="utf-8")
    return read_function(Request((f"{path}:step",)))


def list_changes(subject: Subject, *kinds: str, passes: tuple[str, ...] = ()) -> list[Trial]:
    return [*list_trials(subject, kinds, subject.capture("cpu"), passes=passes, asked=True)]


def test_a_barrier_is_removed_only_during_tracing(
    barrier_subject: Subject,
) -> None:
    [trial] = list_changes(barrier_subject, "barrier")
    assert "optimization_barrier" not in trial.capture("cpu").stablehlo
    assert "optimization_barrier" in barrier_subject.capture("cpu").stablehlo
    assert "optimization_barrier" in Subject("step", barrier_subject.call).capture("cpu").stablehlo


def test_a_pass_is_left_out_unless_the_program_would_be_wrong_without_it(barrier_subject: Subject) -> None:
    changes = [
        change.change
        for change in list_changes(barrier_subject, "pass", passes=("fusion", "copy-insertion", "import", "fusion"))
    ]
    assert changes == ["without the pass fusion"]
    [trial] = list_changes(barrier_subject, "pass", passes=("fusion",))
    assert "fusion" in str(trial.capture("cpu").options["xla_disable_hlo_passes"]).split(",")


def test_other_layouts_of_arguments_and_results_are_tried(barrier_subject: Subject) -> None:
    trials = list_changes(barrier_subject, "layout")
    assert [trial.change.partition(" laid")[0] for trial in trials] == ["argument 0", "argument 1", "the result"]
    layouts = [trial.capture("cpu").module.entry_computation_layout for trial in trials]
    assert layouts == [
        "{(f32[64,32]{0,1}, f32[32,64]{1,0})->f32[64,64]{1,0}}",
        "{(f32[64,32]{1,0}, f32[32,64]{0,1})->f32[64,64]{1,0}}",
        "{(f32[64,32]{1,0}, f32[32,64]{1,0})->f32[64,64]{0,1}}",
    ]


def test_batches_types_and_precisions_are_tried_in_valid_combinations(barrier_subject: Subject) -> None:
    changes = [change.change for change in list_changes(barrier_subject, "batch", "precision")]
    assert changes == [
        "a batch of 1 in the place of 64",
        "a batch of 8 in the place of 64",
        "a batch of 32 in the place of 64",
        "a batch of 256 in the place of 64",
        "a batch of 1024 in the place of 64",
        "float32 arguments as bfloat16",
        "matmul precision 'highest'",
        "matmul precision 'bfloat16'",
    ]
    by_change = {change.change: change for change in list_changes(barrier_subject, "precision")}
    assert "HIGHEST" in by_change["matmul precision 'highest'"].capture("cpu").stablehlo
    assert "bf16[64,32]" in by_change["float32 arguments as bfloat16"].capture("cpu").jaxpr


def test_other_shardings_of_arguments_on_a_mesh_are_tried(barrier_subject: Subject) -> None:
    assert barrier_subject.call is not None
    spread = replace(barrier_subject.call, settings={"mesh": {"data": 8}, "specs": (jax.P("data"), jax.P())})
    subject = Subject("step", spread)
    trials = [*list_trials(subject, ("sharding",), subject.capture("cpu:8"))]
    assert [trial.change for trial in trials] == [
        "argument 0 as P() in the place of P('data')",
        "argument 0 as P(None, 'data') in the place of P('data')",
        "argument 1 as P('data') in the place of P()",
        "argument 1 as P(None, 'data') in the place of P()",
    ]
    layout = trials[1].capture("cpu:8").module.entry_computation_layout
    assert layout == "{(f32[64,4]{1,0}, f32[32,64]{1,0})->f32[64,64]{1,0}}"


RELAID = """
import jax, jax.numpy as jnp
EXAMPLE = (jax.ShapeDtypeStruct((8, 32, 32, 16), jnp.float32), jax.ShapeDtypeStruct((3, 3, 16, 32), jnp.float32))
def convolve(x, kernel):
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
"""


@pytest.mark.usefixtures("all_targets")
def test_the_layout_that_the_compiler_wants_of_an_argument_is_tried_first(tmp_path: Path) -> None:
    path = tmp_path / f"relaid_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(RELAID, encoding="utf-8")
    subject = read_function(Request((f"{path}:convolve",)))

    def list_layouts(*, reasons: bool) -> list[str]:
        trials = list_trials(subject, ("layout",), subject.capture("h100", reasons=reasons), asked=True)
        return [trial.change for trial in trials if trial.change.startswith("argument 1 ")]

    layouts = list_layouts(reasons=True)
    assert layouts[0] == "argument 1 laid out as {2,1,0,3}"
    assert layouts[1:] == list_layouts(reasons=False)
