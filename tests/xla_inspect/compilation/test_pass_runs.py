"""Pass runs in the profiler's record, compared with the compilers' own records."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import InspectError, capture, targets
from xla_inspect.captured import PASSES, REST
from xla_inspect.compilation import dump_compile, lowering, pass_runs
from xla_inspect.dumps import BETWEEN, CHECKS, ModuleTexts, read_metadata

ROOT = Path(__file__).resolve().parents[3]
TARGETS = ("cpu", "h100", "tpu-v5e")
X = jax.ShapeDtypeStruct((4, 8), jnp.float32)

pytestmark = pytest.mark.usefixtures("all_targets")


def compile_recorded(target: str) -> tuple[pass_runs.Recording, ModuleTexts]:
    from programs import softmax

    program = lowering.describe_call(softmax.softmax, softmax.EXAMPLE, {}, {})
    chosen = targets.find_target(target)
    with lowering.held_settings(program.project):
        stage = lowering.lower(program, chosen).place(chosen)
        with dump_compile.Folder() as folder:
            with pass_runs.recorded() as recording:
                dump_compile.compile_with_dumps(stage, chosen, dump_compile.PINNED[chosen.kind], Path(folder))
            return recording, dump_compile.read_dump_folder(Path(folder))[0]


def test_the_profiler_lists_the_runs_that_a_gpu_compile_records_of_itself_and_those_after_scheduling() -> None:
    recording, executable = compile_recorded("h100")
    listed = pass_runs.read_recording(recording, "jit_softmax").runs
    recorded = read_metadata(executable.metadata).runs
    assert len(recorded) > 200
    assert listed[: len(recorded)] == recorded
    assert "latency-hiding-scheduler" in {run.name for run in listed[len(recorded) :]}


@pytest.mark.parametrize("target", ["cpu", "h100"])
def test_the_runs_that_changed_the_module_are_those_that_dumped_it(target: str) -> None:
    recording, executable = compile_recorded(target)
    listed = pass_runs.read_recording(recording, "jit_softmax").runs
    change_counts = Counter((plain(run.pipeline), plain(run.name)) for run in listed if run.changed)
    files = [re.fullmatch(r"\d+\.(.*?)\.after_(.*?)\.before_.*", name) for name, _ in executable.passes]
    dumped = Counter((file[1], file[2]) for file in files if file and file[2] != "pipeline-start")
    assert change_counts == dumped


def plain(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_.+-]", "_", name)


def test_a_tpus_own_record_marks_the_runs_that_dumped_the_module() -> None:
    _, executable = compile_recorded("tpu-v5e")
    change_counts = Counter(
        (plain(run.pipeline), plain(run.name)) for run in read_metadata(executable.metadata).runs if run.changed
    )
    files = [re.fullmatch(r"\d+\.(.*?)\.after_(.*?)\.before_.*", name) for name, _ in executable.passes]
    assert change_counts == Counter((file[1], file[2]) for file in files if file and file[2] != "pipeline-start")


def test_an_active_profile_is_reported_as_the_obstacle(tmp_path: Path) -> None:
    jax.profiler.start_trace(tmp_path)
    try:
        with pytest.raises(InspectError, match="stop the profile that this process is taking"):
            capture(jnp.cos, X)
    finally:
        jax.profiler.stop_trace()


def train(x: jax.Array, w: jax.Array) -> jax.Array:
    def loss(w: jax.Array) -> jax.Array:
        y = x
        for _ in range(12):
            y = jax.nn.softmax(jnp.tanh(y @ w) * 2)
        return jnp.sum(y)

    return jax.grad(loss)(w)


@pytest.mark.parametrize("target", TARGETS)
def test_the_times_of_the_runs_add_up_to_the_compilers_own_total_and_the_phases_to_the_compile(target: str) -> None:
    times = (program := capture(train, X, jax.ShapeDtypeStruct((8, 8), jnp.float32), target=target, passes=False)).times
    assert len(times.passes) == len(program.runs) > 100
    assert 0.9 < sum(times.passes) / times.phases[PASSES] < 1.1
    assert sum(times.phases.values()) == pytest.approx(times.compiling)
    assert times.phases["code generation"] > times.phases[PASSES] / 20
    # Of a small program the start of a compiler is most, and nothing records it.
    assert times.phases[REST] < 0.8 * times.compiling


def test_a_run_is_not_charged_with_the_runs_inside_it() -> None:
    entry = 'pass_metadata {{\n  pass_name: "{}"\n  start_timestamp_usec: {}\n  end_timestamp_usec: {}\n}}\n'
    text = "".join(
        entry.format(*event)
        for event in (
            ("pipeline-start", 1_000_000, 1_000_000),
            ("outer", 1_000_000, 4_000_000),
            ("inner", 1_500_000, 3_500_000),
            ("next", 5_000_000, 6_000_000),
            ("pipeline-start", 9_000_000, 9_000_000),
        )
    )
    record = read_metadata(text)
    assert dict(zip([run.name for run in record.runs], record.seconds, strict=True)) == {
        "outer": 1,
        "inner": 2,
        "next": 1,
    }
    assert record.phases == {PASSES: 5, CHECKS: 0, BETWEEN: 3}
