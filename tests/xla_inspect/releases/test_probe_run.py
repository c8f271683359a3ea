"""The probe gives the same results as a capture, and an error affects only its own task."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xla_inspect import capture
from xla_inspect.analysis import find_difference, list_kernels
from xla_inspect.process import list_below
from xla_inspect.releases import QUESTIONS, measure_capture, probe_run, read_probe, run_probe
from xla_inspect.subject import ReleaseTask, Request, load_file, read_function

sys.path.insert(0, str(Path(__file__).parent))  # tests are found by path

from released import make_here

PROGRAM = """\
import jax, jax.numpy as jnp

def step(w, x):
    y = jnp.sin(x @ w) + 1.0
    return y * jnp.exp(-y).sum()

f32 = jnp.float32
EXAMPLE = (jax.ShapeDtypeStruct((32, 16), f32), jax.ShapeDtypeStruct((8, 32), f32))

def broken(w, x):
    return w @ w

def ends(w, x):
    import os
    os._exit(7)

def hangs(w, x):
    import pathlib, time
    pathlib.Path(__file__).with_name("hanging").touch()
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reader") / "step.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def probed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict, dict]]:
    """The probe's results for a program, and for the same with a disabled pass, as in an older release."""
    probes = {}
    for name, flags in (("new", {}), ("old", {"xla_disable_hlo_passes": "fusion", "xla_made_up_flag": "1"})):
        place = tmp_path_factory.mktemp(name)
        task = ReleaseTask(Request((f"{file}:step",)), "cpu")
        here = make_here("0.1.0", place)
        described = task.describe(here, place / "task")
        ((_, result),) = run_probe(here, [described], flags={**task.flags, **flags}, paths=task.paths)
        probes[name] = (described, result)
    return probes


def test_the_result_of_the_probe_matches_a_capture(file: Path, probed: dict[str, tuple[dict, dict]]) -> None:
    probe = read_probe(*probed["new"], {"jax": "0.1.0"})
    module = load_file(file)
    captured = capture(module.step, *module.EXAMPLE)
    assert probe.jaxpr == captured.jaxpr
    assert [kernel.sort for kernel in list_kernels(probe)] == [kernel.sort for kernel in list_kernels(captured)]
    assert probe.memory.arguments == captured.memory.arguments
    assert list(probe.sources) == ["step.py"]
    assert {run.name for run in probe.runs} >= {"fusion", "algsimp", "dce"}


def test_a_pass_missing_from_one_compilation_explains_the_difference(probed: dict[str, tuple[dict, dict]]) -> None:
    old, new = (read_probe(*probed[name], {}) for name in ("old", "new"))
    difference = find_difference(old, new, QUESTIONS["kernels"].count)
    assert (difference.stage, difference.blamed, difference.maker) == ("pass", "fusion", "fusion")
    assert QUESTIONS["kernels"].distance(measure_capture(old)["kernels"], measure_capture(new)["kernels"]) > 0
    back = find_difference(new, old, QUESTIONS["kernels"].count)
    assert back.blamed == "fusion", "a pass that is gone is to blame for what it no longer does"


def test_two_compilations_of_one_program_do_not_differ(probed: dict[str, tuple[dict, dict]]) -> None:
    probe = read_probe(*probed["new"], {})
    assert find_difference(probe, probe).stage == "below HLO"
    values = measure_capture(probe)
    assert all(QUESTIONS[name].distance(value, value) == 0 for name, value in values.items())


@pytest.mark.parametrize(
    ("name", "failed", "stage", "place"),
    [
        ("broken", "TypeError: dot_general requires contracting dimensions", "tracing", "step.py:11"),
        ("missing", "AttributeError: module 'step' has no attribute 'missing'", "loading", ""),
        ("ends", "the compiler ended its process (exit status 7)", "tracing", ""),
        ("hangs", "not done after 8 s", "tracing", ""),
    ],
)
def test_an_error_is_reported_with_its_stage_and_affects_no_other_task(  # noqa: PLR0913, PLR0917 - a row of a table
    file: Path, tmp_path: Path, name: str, failed: str, stage: str, place: str
) -> None:
    here = make_here("0.1.0", tmp_path)
    tasks = [ReleaseTask(Request((f"{file}:{part}",)), "cpu") for part in (name, "step")]
    described = [{**task.describe(here, tmp_path / str(at)), "id": str(at)} for at, task in enumerate(tasks)]
    heard: list[str] = []
    results = [
        result for _, result in run_probe(here, described, flags={}, paths=tasks[0].paths, say=heard.append, limit=8)
    ]
    assert results[0]["failed"].startswith(failed)
    assert (results[0]["stage"], results[0].get("place", "")) == (stage, place)
    assert "failed" not in results[1]
    assert heard == ["0", "1"]


KILLED = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from released import make_here
from xla_inspect.releases import run_probe
from xla_inspect.subject import ReleaseTask, Request
file, folder = sys.argv[1:]
here, task = make_here("0.1.0", Path(folder)), ReleaseTask(Request((f"{{file}}:hangs",)), "cpu")
described = {{**task.describe(here, Path(folder) / "0"), "id": "0"}}
for _ in run_probe(here, [described], flags={{}}, paths=task.paths):
    pass
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux lists the processes below one")
def test_the_probe_ends_when_the_process_that_waits_for_it_is_killed(file: Path, tmp_path: Path) -> None:
    file.with_name("hanging").unlink(missing_ok=True)
    command = [sys.executable, "-c", KILLED, str(file), str(tmp_path)]
    with subprocess.Popen(command) as waiting:
        until = time.monotonic() + 60
        while not file.with_name("hanging").exists() and time.monotonic() < until:
            time.sleep(0.05)
        probes = list_below(waiting.pid)
        waiting.kill()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{probe}").exists() for probe in probes) and time.monotonic() < until:
        time.sleep(0.05)
    assert (bool(probes), [probe for probe in probes if Path(f"/proc/{probe}").exists()]) == (True, [])


def test_the_probe_runs_alone_on_an_old_python() -> None:
    """The Python of a release from years ago runs it, with JAX and without our package."""
    for path in sorted((Path(probe_run.__file__).parent / "release_probe").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
        modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
        modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
        others = {str(name).partition(".")[0] for name in modules} - sys.stdlib_module_names - {"__future__"}
        assert others <= {"jax", "numpy"}, path.name


SPECS = {"mesh": {"data": 4}, "in_spec": ("w=P(None, 'data')", "x=P('data')"), "out_spec": ("P('data')",)}


def test_the_probe_shards_the_arguments_and_results_as_a_capture_does(file: Path, tmp_path: Path) -> None:
    request = Request((f"{file}:step",), grad=True, **SPECS)
    task = ReleaseTask(request, "cpu")
    here = make_here("0.1.0", tmp_path)
    described = task.describe(here, tmp_path / "task")
    ((_, result),) = run_probe(here, [described], flags=task.flags, paths=task.paths)
    layout = read_probe(described, result, {}).module.entry_computation_layout
    assert layout == read_function(request).capture("cpu").module.entry_computation_layout
    assert layout == "{(f32[32,4]{1,0}, f32[2,32]{1,0})->f32[8,16]{1,0}}"


def test_the_probe_reports_a_spec_that_does_not_divide(file: Path, tmp_path: Path) -> None:
    task = ReleaseTask(Request((f"{file}:step",), mesh={"data": 5}, in_spec=("x=P('data')",)), "cpu")
    here = make_here("0.1.0", tmp_path)
    ((_, result),) = run_probe(here, [task.describe(here, tmp_path / "task")], flags=task.flags, paths=task.paths)
    assert "axis 0 is partitioned 5 times, but the dimension size is 8" in result["failed"]
