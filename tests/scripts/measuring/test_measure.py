"""`scripts/measure` records real launches of a device, and writes nothing without a GPU."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import stamps
from common import ROOT
from measuring import gpu_profile, measure, step_times
from programs import layer
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.report import find_measured
from xla_inspect.targets import find_entry
from xla_inspect.traces import Event, Source

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("maintainers and continuous integration alone run this")

NO_GPU = 3


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    # As a reader runs it, and not as this process has set JAX up.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_FLAGS"))}
    command = [sys.executable, "-m", "measuring.measure", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300, encoding="utf-8"
    )


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_written(tmp_path: Path) -> None:
    out = tmp_path / "times.json"
    ended = run("--out", str(out), "layer")
    assert ended.returncode == NO_GPU
    assert "measure: no GPU that JAX can use here, so nothing was measured" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not out.exists()


def test_no_times_of_a_gpu_are_recorded_that_nobody_measured() -> None:
    path = ROOT / "docs/data/kernel-times.json"
    sealed = stamps.read_sealed(path) if path.exists() else {}
    for target in sealed.keys() - {"script", "versions", stamps.SEAL}:
        assert find_entry(target).kind == "gpu"
        device = sealed[target]
        assert target.upper() in device["device"].upper()
        assert device["date"]
        assert device["versions"]["jax"]


def test_the_cpu_profile_matches_the_launches_of_the_capture(tmp_path: Path) -> None:
    out = tmp_path / "times.json"
    stamps.write_sealed(out, "scripts/measure", {"jax": "1.0"}, {"h100": {"kept": True}})
    ended = run("--platform", "cpu", "--runs", "3", "--out", str(out), "layer")
    assert ended.returncode == 0, ended.stderr
    record = stamps.read_sealed(out)
    assert record["versions"] == record["cpu"]["versions"]
    assert record["h100"] == {"kept": True}
    program = record["cpu"]["programs"]["layer"]
    ahead = capture(layer.layer, *layer.EXAMPLE)
    assert [kernel_entry["name"] for kernel_entry in program["kernels"]] == [
        kernel.name for kernel in list_kernels(ahead)
    ]
    assert {kernel_entry["launches"] for kernel_entry in program["kernels"]} == {1}
    assert min(kernel_entry["us"] for kernel_entry in program["kernels"]) > 0
    assert program["changed"] == {}
    times = find_measured(record, ahead)
    assert times is not None
    assert list(times.seconds) == [kernel.name for kernel in list_kernels(ahead)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--platform", "cpu"), "name another file with --out"),
        (("no_such_program",), "no program with an EXAMPLE is named no_such_program; there are "),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments: tuple[str, ...], message: str) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert message in " ".join(ended.stderr.split())


def test_a_program_that_does_not_run_costs_the_others_nothing(tmp_path: Path) -> None:
    out = tmp_path / "times.json"
    ended = run("--platform", "cpu", "--runs", "1", "--out", str(out), "exchange", "softmax")
    assert ended.returncode == 0, ended.stderr
    assert "exchange skipped: " in ended.stdout
    assert list(json.loads(out.read_text(encoding="utf-8"))["cpu"]["programs"]) == ["softmax"]


def test_programs_are_the_files_with_a_function_of_their_name_and_an_example() -> None:
    programs = measure.find_programs()
    assert {"layer", "mlp", "attention", "transformer_block_grad"} <= set(programs)
    # Families have no function of the file's name.
    assert not {"control_flow", "layouts", "fusible"} & set(programs)


def test_the_kernels_of_an_instruction_are_one_launch() -> None:
    once = [("dot", "split", 10_000), ("dot", "sum", 2_000), ("add", "add", 1_000), ("loop", "step", 500)]
    again = [("dot", "split", 12_000), ("dot", "sum", 2_000), ("add", "add", 3_000), ("loop", "step", 500)]
    last = [("loop", "step", 700), ("loop", "rest", 400)]
    runs = [*once, *last, *again, *last]
    events = [
        Event("1", "0", kernel, name, "m", start, duration) for start, (name, kernel, duration) in enumerate(runs)
    ]
    assert gpu_profile.summarize(reversed(events), 2) == [
        {"name": "dot", "kernels": ["split", "sum"], "launches": 1, "us": 13.0},
        {"name": "add", "kernels": ["add"], "launches": 1, "us": 2.0},
        # The rest runs once for two steps.
        {"name": "loop", "kernels": ["step", "rest"], "launches": 2, "us": 0.6 + 0.4 / 2},
    ]


def test_only_the_streams_of_a_gpu_count(tmp_path: Path) -> None:
    host = Event("1", "0", "call", "a", "jit_layer", 1, 2)
    stream, other = (Event("2", "0", "symbol", op, module, 1, 2) for op, module in (("a", "jit_layer"), ("b", "jit_x")))
    again = Event("2", "1", "symbol", "a", "jit_layer", 1, 2)
    events = [host, Event("1", "0", "x", "", "", 0, 0), stream, other, again]
    threads = {("1", "0"): "python", ("2", "0"): "Stream #7(Compute)", ("2", "1"): "XLA Ops"}
    names = {"1": "/host:CPU", "2": "/device:GPU:0"}
    profile = Source(tmp_path, "XProf profile", lambda *_: iter(events), names, threads)
    assert gpu_profile.list_kernels(profile, "jit_layer") == [stream]
    assert gpu_profile.list_kernels(replace(profile, read=lambda *_: iter(events[:2])), "jit_layer") == [host]


@pytest.mark.parametrize(
    ("device", "target"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA B200", "b200"),
    ],
)
def test_a_device_is_known_by_its_name(device: str, target: str) -> None:
    assert measure.choose_target(device, "cuda") == target


@pytest.mark.parametrize("device", ["NVIDIA GH200 480GB", "NVIDIA L4"])
def test_a_device_that_is_no_target_is_refused(device: str) -> None:
    with pytest.raises(SystemExit, match="is none of the GPUs"):
        measure.choose_target(device, "cuda")


def test_kernels_that_tuning_replaced_are_counted_by_what_they_are() -> None:
    """The product of the capture is a fusion of Triton's, that of the device a call of cuBLAS."""
    ahead = capture(layer.layer, *layer.EXAMPLE, target="h100")
    tuned = """\
HloModule jit_layer

ENTRY %main (x: f32[64,128], w: f32[128,256]) -> f32[64,256] {
  %x = f32[64,128]{1,0} parameter(0)
  %w = f32[128,256]{1,0} parameter(1)
  %custom-call.1 = (f32[64,256]{1,0}, s8[64]{0}) custom-call(%x, %w), custom_call_target="__cublas$gemm"
  ROOT %r = f32[64,256]{1,0} get-tuple-element(%custom-call.1), index=0
}
"""
    kernels = [{"name": "custom-call.1", "kernels": ["symbol"], "launches": 1, "us": 3.0}]
    program_entry = measure.describe_program({"module": tuned, "kernels": kernels}, ahead)
    assert program_entry["kernels"][0]["what"] == "custom-call __cublas$gemm"
    assert program_entry["changed"] == {
        "custom-call __cublas$gemm": 1,
        "fusion __triton_nested_gemm_fusion": -1,
        "fusion kLoop": -1,
    }
    assert measure.describe_times(program_entry).startswith(
        "1 kernel, 3.0 us; against the capture: +1 custom-call __cublas$gemm, -1 "
    )


TINY = """
import jax, jax.numpy as jnp

def train_step(state, x):
    return {"w": state["w"] - 0.1 * (x @ state["w"])}, x.sum()

EXAMPLE = ({"w": jax.ShapeDtypeStruct((64, 64), jnp.float32)}, jax.ShapeDtypeStruct((64, 64), jnp.float32))
ARGUMENTS = {"donate_argnums": 0}
PROGRAMS = {"step": (train_step, EXAMPLE)}
"""


def test_each_timed_step_gets_the_state_of_the_previous_step_if_the_state_is_donated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny_step.py").write_text(TINY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "scale.tiny", importlib.import_module("tiny_step"))
    record = step_times.measure_step("tiny", 3)
    shortest, longest = record["range_ms"]
    assert 0 < shortest <= record["ms"] <= longest
    assert record["kernels"] == len(record["longest"]) > 0
    assert record["peak_bytes"] >= 2 * 64 * 64 * 4  # the state and the batch
