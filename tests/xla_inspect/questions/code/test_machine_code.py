"""The answer about machine code: the summary line, and each kernel with its instruction and line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jsonschema import Draft202012Validator
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.analysis import list_launches
from xla_inspect.answers import describe_json, write_json
from xla_inspect.questions.code.finding import MachineCode, explain_code

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

WIDTH = 80


@pytest.fixture(scope="module")
def on_gpu(all_targets: None) -> Capture:  # noqa: ARG001 - the fixture skips the tests without all targets
    return capture(scanned, *EXAMPLE, target="h100", machine=True, passes=False)


@pytest.fixture(scope="module")
def on_cpu() -> Capture:
    return capture(scanned, *EXAMPLE, target="cpu", reasons=True, passes=False)


def test_each_gpu_kernel_belongs_to_a_launched_instruction_and_its_line(on_gpu: Capture) -> None:
    answer = explain_code(on_gpu)
    assert max(map(len, str(answer).splitlines())) <= WIDTH
    launched = {launch.name for launch in list_launches(on_gpu)}
    assert {kernel.name for kernel in answer.kernels} == {thunk.symbol for thunk in on_gpu.thunks if thunk.symbol}
    for kernel in answer.kernels:
        assert kernel.launches
        assert launched >= {*kernel.launches}
        assert re.fullmatch(r"scanned\.py:\d+", kernel.where)


def test_the_resources_of_a_gpu_kernel_match_its_launch_and_its_assembler(on_gpu: Capture) -> None:
    threads = {thunk.symbol: thunk.threads for thunk in on_gpu.thunks if thunk.symbol}
    for kernel in explain_code(on_gpu).kernels:
        assert kernel.resources
        assert kernel.occupancy
        assert f"Used {kernel.resources.registers} registers" in " ".join(kernel.resources.said)
        sizes = threads[kernel.name]
        assert sizes
        assert kernel.block == sizes[0] * sizes[1] * sizes[2]
        assert kernel.occupancy.warps == kernel.occupancy.blocks * -(-kernel.block // 32) <= 64


def test_without_machine_code_the_answer_lists_the_gpu_kernels_and_the_gap() -> None:
    without_code = capture(scanned, *EXAMPLE, target="h100", passes=False)
    text = " ".join(str(explain_code(without_code, gap="no SASS: it is not installed")).split())
    assert "The registers and shared memory that they use are not known here" in text
    assert "no SASS: it is not installed" in text


def test_the_first_line_reports_kernels_that_spill(on_gpu: Capture) -> None:
    spilled = [
        replace(code, text=code.text.replace("0 bytes spill stores, 0 bytes", "96 bytes spill stores, 160 bytes", 1))
        if code.language == "sass"
        else code
        for code in on_gpu.code
    ]
    answer = explain_code(on_gpu.retold(code=tuple(spilled)))
    assert {kernel.resources.spilled for kernel in answer.kernels if kernel.resources} == {256}
    assert f"{len(answer.kernels)} kernels spill registers" in " ".join(str(answer).split())
    assert "256 B" in str(answer)


def test_every_launch_of_the_cpu_has_a_kernel_or_is_listed_as_without_code(on_cpu: Capture) -> None:
    answer = explain_code(on_cpu)
    with_code = {name for kernel in answer.kernels for name in kernel.launches}
    assert with_code.isdisjoint(name for name, _ in answer.without_code)
    assert with_code | {name for name, _ in answer.without_code} == {launch.name for launch in list_launches(on_cpu)}
    assert all(kernel.launches for kernel in answer.kernels)


def test_equal_fusions_of_the_cpu_share_a_kernel() -> None:
    def twice(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(x @ x.T) * 3 + 1, jnp.tanh(y @ y.T) * 3 + 1

    shape = jax.ShapeDtypeStruct((256, 256), jnp.float32)
    answer = explain_code(capture(twice, shape, shape, target="cpu", passes=False))
    assert max(len(kernel.launches) for kernel in answer.kernels) == 2
    assert not [name for name, sort in answer.without_code if sort == "fusion kLoop"]


def test_a_small_loop_of_the_cpu_is_one_kernel_with_everything_in_its_body() -> None:
    def settle(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda x: x.sum() > 1, lambda x: x * 0.5, x)

    loop = capture(settle, jax.ShapeDtypeStruct((8,), jnp.float32), target="cpu", reasons=True, passes=False)
    (kernel,) = explain_code(loop).kernels
    inside = {launch.name for launch in list_launches(loop) if launch.within}
    assert {*kernel.launches} == inside
    assert kernel.remarks


def test_the_cpu_answer_reports_vectors_loops_and_llvms_remarks(on_cpu: Capture) -> None:
    answer = explain_code(on_cpu)
    text = str(answer)
    assert max(map(len, text.splitlines())) <= WIDTH + 5
    assert {kernel.width for kernel in answer.kernels} <= {0, 128, 256, 512}
    assert any("vectorized loop (vectorization width" in " ".join(kernel.remarks) for kernel in answer.kernels)
    assert "LLVM's most useful remark" in text


def test_a_failed_compilation_is_reported_and_does_not_hold(on_gpu: Capture) -> None:
    answer = explain_code(on_gpu.retold(error="INTERNAL: no such thing", after=""))
    assert not answer.holds
    assert str(answer) == "scanned does not compile for NVIDIA H100: INTERNAL: no such thing"


def test_the_json_follows_its_schema(on_gpu: Capture, on_cpu: Capture) -> None:
    for program in (on_gpu, on_cpu):
        record = json.loads(write_json(explain_code(program)))
        Draft202012Validator(describe_json(MachineCode)).validate(record)
        assert record["kernels"]
