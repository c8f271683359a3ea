"""Launches have the work, bytes and lines of the capture, and a consistent least time."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest

from programs import control_flow, transformer_block_grad
from xla_inspect import capture, capture_all
from xla_inspect.analysis import find_lines, list_kernels, list_traffic
from xla_inspect.analysis.flops import Work
from xla_inspect.analysis.instruction_lines import read_line
from xla_inspect.analysis.launch_costs import MEMORY, NOTHING, STATEMENT, bound, model_launches
from xla_inspect.report import find_measured, hash_program, read_times
from xla_inspect.report.explorer import describe_kernels
from xla_inspect.targets import Hardware

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis import SourceLine

pytestmark = pytest.mark.usefixtures("all_targets")

# Per second: 100 bytes, 1000 operations of products, 10 of others.
SLOW = Hardware("h100", 100, {"f32": 1000}, {"f32": 10, "s32": 5}, "https://example.org", 1, 10**9)


def locate(line: SourceLine) -> list[str | int]:
    return [line.file, line.number]


@pytest.fixture(scope="module")
def block() -> Captures:
    return capture_all(transformer_block_grad.transformer_block_grad, *transformer_block_grad.EXAMPLE)


def test_the_work_of_the_launches_is_that_of_the_module(block: Captures) -> None:
    for program in block.values():
        kernels = model_launches(program)
        flops = sum(kernel.work.flops for kernel in kernels)
        assert flops == pytest.approx(program.cost.flops, rel=1e-6)
        assert sum(kernel.work.transcendentals for kernel in kernels) == program.cost.transcendentals


def test_the_bytes_of_the_launches_are_those_of_the_module(block: Captures) -> None:
    for program in block.values():
        expected = [(cost.name, cost.main, cost.total - cost.main) for cost in list_traffic(program.module)]
        assert [(cost.launch.name, cost.bytes, cost.on_chip) for cost in model_launches(program)] == expected


def test_the_buffer_of_a_loop_has_the_line_of_the_loop_and_not_of_another_value_that_it_carries() -> None:
    def step(x: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        x = jnp.sin(x)
        return jax.lax.scan(lambda x, weight: (jnp.tanh(x @ weight), jnp.cos(weight)), x, jnp.ones((4, 64, 64)))

    program = capture(lambda x: jax.lax.scan(step, x, None, length=8), jnp.ones((8, 64)))
    texts = [(launch.launch.name, read_line(program, launch.lines[0])) for launch in model_launches(program)]
    assert [name for name, text in texts if text == "x = jnp.sin(x)"] == ["wrapped_sine"]


def test_a_launch_has_the_lines_of_all_that_is_fused_in_it_and_its_own_first(block: Captures) -> None:
    for program in block.values():
        lines = find_lines(program, program.module)
        kernels = model_launches(program)
        for kernel in kernels:
            assert kernel.lines[0].number == lines[kernel.launch.instruction].number
        program_lines = {(line.file, line.number) for line in lines.values()}
        # Parameters have lines too, and no launch.
        assert {(line.file, line.number) for kernel in kernels for line in kernel.lines} <= program_lines
        assert max(len(kernel.lines) for kernel in kernels) > 1


@pytest.mark.parametrize(
    ("work", "moved", "seconds", "limit"),
    [
        (Work(Counter({"f32": 500})), 100, 1, MEMORY),
        (Work(Counter({"f32": 3000})), 100, 3, "TF32 tensor cores"),
        (Work(Counter({"f32": 500}), Counter({"f32": 40})), 100, 4, "f32 CUDA cores"),
        (Work(others=Counter({"pred": 20, "s32": 5})), 100, 5, "s32 CUDA cores"),
        (Work(Counter({"f32 highest": 70})), 0, 7, "f32 CUDA cores"),
        (Work(transcendentals=1000), 0, 0, NOTHING),
    ],
)
def test_the_slowest_part_sets_the_least_time(work: Work, moved: int, seconds: float, limit: str) -> None:
    least_time = bound(work, moved, SLOW)
    assert (least_time.seconds, least_time.limit) == (seconds, limit)


def test_a_cpu_has_no_least_times_and_says_why(captures: Captures) -> None:
    described = describe_kernels(captures["cpu"], locate)
    assert described["hardware"] is None
    assert described["reason"].startswith("The CPU has no roofline")
    assert [launch for launch in described["launches"] if "seconds" in launch] == []


def test_the_data_describes_the_launches_of_a_gpu(captures: Captures) -> None:
    capture = captures["h100"]
    described = json.loads(json.dumps(describe_kernels(capture, locate)))
    assert described["statement"] == STATEMENT
    assert described["measured"] is None
    for launch, thunk in zip(described["launches"], capture.thunks, strict=True):
        shape = (launch["name"], tuple(launch["grid"]), tuple(launch["threads"]), launch.get("shared"))
        assert shape == (thunk.name, thunk.grid, thunk.threads, thunk.shared_memory)
        assert launch["seconds"] > 0
        assert "measured" not in launch
    limits = {launch["limit"] for launch in described["launches"]} - {MEMORY}
    assert limits <= {name for name, _ in described["hardware"]["roofs"]} == {"TF32 tensor cores", "f32 CUDA cores"}


def test_a_launch_in_a_loop_has_its_number_of_runs() -> None:
    function, example = control_flow.PROGRAMS["fori_loop"]
    launches = describe_kernels(capture(function, *example), locate)["launches"]
    assert {(tuple(launch["within"]), launch["runs"]) for launch in launches if "within" in launch} == {
        (("while.0",), 3),
        (("while.0",), 4),
    }
    function, example = control_flow.PROGRAMS["while_loop"]
    launches = describe_kernels(capture(function, *example), locate)["launches"]
    assert {("runs" in launch, launch["assumed"]) for launch in launches if "within" in launch} == {(False, 1)}
    nested = capture(repeat_layers, jnp.ones((4, 8, 8)), jnp.ones((8, 8)), passes=False)
    assert 4 in {launch.get("assumed") for launch in describe_kernels(nested, locate)["launches"]}


def repeat_layers(weights: jax.Array, x: jax.Array) -> jax.Array:
    def apply(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0]

    return jax.lax.while_loop(lambda x: x.sum() > 1, apply, x)


def record(capture: Capture) -> dict[str, Any]:
    first = list_kernels(capture)[0].name
    program = {
        "stablehlo": hash_program(capture.stablehlo),
        "kernels": [{"name": first, "us": 2.5}, {"name": "cublas", "us": 3.5}],
        "changed": {"custom-call __cublas$gemm": 1},
    }
    device = {"date": "2026-11-20", "device": "a device", "versions": {"jax": "1"}, "programs": {"p": program}}
    return {capture.target: device}


def test_measured_times_are_listed_next_to_modeled_times(captures: Captures, tmp_path: Path) -> None:
    capture = captures["h100"]
    file = tmp_path / "times.json"
    file.write_text(json.dumps(record(capture)), encoding="utf-8")
    times = find_measured(read_times(file), capture)
    assert times is not None
    described = describe_kernels(capture, locate, times)
    assert [launch.get("measured") for launch in described["launches"]] == [pytest.approx(2.5e-6), None]
    assert described["measured"]["others"] == {"cublas": pytest.approx(3.5e-6)}
    assert described["measured"]["changed"] == {"custom-call __cublas$gemm": 1}
    assert (described["measured"]["date"], described["measured"]["device"]) == ("2026-11-20", "a device")
    assert find_measured(record(capture), captures["cpu"]) is None
    assert (read_times(tmp_path / "elsewhere"), read_times(None)) == ({}, {})


def test_a_different_program_with_the_same_name_has_no_measured_times(captures: Captures) -> None:
    whole = record(captures["h100"])
    assert find_measured(whole, captures["h100"]) is not None
    whole["h100"]["programs"]["p"]["stablehlo"] = "another"
    assert find_measured(whole, captures["h100"]) is None
