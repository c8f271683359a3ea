"""Which passes ran: what the profiler lists, beside what the compilers record of themselves."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import InspectError, capture, targets
from xla_inspect.compilation import dumps, lowering, normalize, pass_runs

ROOT = Path(__file__).resolve().parents[3]
TARGETS = ("cpu", "h100", "tpu-v5e")
X = jax.ShapeDtypeStruct((4, 8), jnp.float32)

pytestmark = pytest.mark.usefixtures("all_targets")


def compile_recorded(target: str) -> tuple[pass_runs.Recording, dumps.Dumps]:
    from programs import softmax

    program = lowering.describe_call(softmax.softmax, softmax.EXAMPLE, {}, {})
    chosen = targets.find(target)
    with lowering.held_settings(program.project):
        stage = lowering.lower(program, chosen).place(chosen)
        with dumps.Folder() as folder:
            with pass_runs.recorded() as recording:
                dumps.compile_with_dumps(stage, chosen, dumps.PINNED[chosen.kind], Path(folder))
            return recording, dumps.read(Path(folder))


def test_the_profiler_lists_the_runs_that_a_gpu_compile_records_of_itself_and_those_after_scheduling() -> None:
    recording, found = compile_recorded("h100")
    listed = pass_runs.read_recording(recording, "jit_softmax")
    recorded = pass_runs.read_metadata(found.metadata)
    assert len(recorded) > 200
    assert listed[: len(recorded)] == recorded
    assert "latency-hiding-scheduler" in {run.name for run in listed[len(recorded) :]}


@pytest.mark.parametrize("target", ["cpu", "h100"])
def test_the_runs_that_changed_the_module_are_those_that_dumped_it(target: str) -> None:
    recording, found = compile_recorded(target)
    listed = pass_runs.read_recording(recording, "jit_softmax")
    changed = Counter((plain(run.pipeline), plain(run.name)) for run in listed if run.changed)
    files = [re.fullmatch(r"\d+\.(.*?)\.after_(.*?)\.before_.*", name) for name, _ in found.passes]
    dumped = Counter((file[1], file[2]) for file in files if file and file[2] != "pipeline-start")
    assert changed == dumped


def plain(name: str) -> str:
    return normalize.PLAIN.sub("_", name)


def test_a_tpus_own_record_marks_the_runs_that_dumped_the_module() -> None:
    _, found = compile_recorded("tpu-v5e")
    changed = Counter(
        (plain(run.pipeline), plain(run.name)) for run in pass_runs.read_metadata(found.metadata) if run.changed
    )
    files = [re.fullmatch(r"\d+\.(.*?)\.after_(.*?)\.before_.*", name) for name, _ in found.passes]
    assert changed == Counter((file[1], file[2]) for file in files if file and file[2] != "pipeline-start")


def test_a_profile_that_is_being_taken_already_is_named_as_the_obstacle(tmp_path: Path) -> None:
    jax.profiler.start_trace(tmp_path)
    try:
        with pytest.raises(InspectError, match="stop the profile that this process is taking"):
            capture(jnp.cos, X)
    finally:
        jax.profiler.stop_trace()
