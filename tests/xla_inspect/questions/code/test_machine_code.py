"""What machine code takes and does is told first line first, each kernel with its instruction and line."""

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
def on_gpu(all_targets: None) -> Capture:  # noqa: ARG001 - it asks for them
    return capture(scanned, *EXAMPLE, target="h100", machine=True, passes=False)


@pytest.fixture(scope="module")
def on_cpu() -> Capture:
    return capture(scanned, *EXAMPLE, target="cpu", reasons=True, passes=False)


def test_each_kernel_of_a_gpu_is_of_an_instruction_that_is_launched_and_of_its_line(on_gpu: Capture) -> None:
    answer = explain_code(on_gpu)
    assert max(map(len, str(answer).splitlines())) <= WIDTH
    launched = {launch.name for launch in list_launches(on_gpu)}
    assert {kernel.name for kernel in answer.kernels} == {thunk.symbol for thunk in on_gpu.thunks if thunk.symbol}
    for kernel in answer.kernels:
        assert kernel.launches
        assert launched >= {*kernel.launches}
        assert re.fullmatch(r"scanned\.py:\d+", kernel.where)


def test_what_a_kernel_of_a_gpu_takes_is_what_its_launch_and_its_assembler_say(on_gpu: Capture) -> None:
    threads = {thunk.symbol: thunk.threads for thunk in on_gpu.thunks if thunk.symbol}
    for kernel in explain_code(on_gpu).kernels:
        assert kernel.resources
        assert kernel.occupancy
        assert f"Used {kernel.resources.registers} registers" in " ".join(kernel.resources.said)
        sizes = threads[kernel.name]
        assert sizes
        assert kernel.block == sizes[0] * sizes[1] * sizes[2]
        assert kernel.occupancy.warps == kernel.occupancy.blocks * -(-kernel.block // 32) <= 64


def test_without_the_machine_code_a_gpus_kernels_are_named_and_the_gap_is_said() -> None:
    made = capture(scanned, *EXAMPLE, target="h100", passes=False)
    told = " ".join(str(explain_code(made, gap="no SASS: it is not installed")).split())
    assert "what they take of the hardware is not known here" in told
    assert "no SASS: it is not installed" in told


def test_a_kernel_that_spills_is_said_in_the_first_line(on_gpu: Capture) -> None:
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


def test_every_launch_of_the_cpu_has_a_kernel_or_is_named_among_those_without(on_cpu: Capture) -> None:
    answer = explain_code(on_cpu)
    known = {name for kernel in answer.kernels for name in kernel.launches}
    assert known.isdisjoint(name for name, _ in answer.without_code)
    assert known | {name for name, _ in answer.without_code} == {launch.name for launch in list_launches(on_cpu)}
    assert all(kernel.launches for kernel in answer.kernels)


def test_equal_fusions_of_the_cpu_share_a_kernel() -> None:
    def twice(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(x @ x.T) * 3 + 1, jnp.tanh(y @ y.T) * 3 + 1

    shape = jax.ShapeDtypeStruct((256, 256), jnp.float32)
    answer = explain_code(capture(twice, shape, shape, target="cpu", passes=False))
    assert max(len(kernel.launches) for kernel in answer.kernels) == 2
    assert not [name for name, sort in answer.without_code if sort == "fusion kLoop"]


def test_a_small_loop_of_the_cpu_is_one_kernel_of_all_that_it_holds() -> None:
    def settle(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda x: x.sum() > 1, lambda x: x * 0.5, x)

    made = capture(settle, jax.ShapeDtypeStruct((8,), jnp.float32), target="cpu", reasons=True, passes=False)
    (kernel,) = explain_code(made).kernels
    inside = {launch.name for launch in list_launches(made) if launch.within}
    assert {*kernel.launches} == inside
    assert kernel.remarks


def test_the_cpus_summary_tells_vectors_loops_and_llvms_words(on_cpu: Capture) -> None:
    answer = explain_code(on_cpu)
    told = str(answer)
    assert max(map(len, told.splitlines())) <= WIDTH + 5
    assert {kernel.width for kernel in answer.kernels} <= {0, 128, 256, 512}
    assert any("vectorized loop (vectorization width" in " ".join(kernel.remarks) for kernel in answer.kernels)
    assert "LLVM's own words" in told


def test_a_compile_that_failed_says_so_and_is_no(on_gpu: Capture) -> None:
    answer = explain_code(on_gpu.retold(error="INTERNAL: no such thing", after=""))
    assert not answer.holds
    assert str(answer) == "scanned does not compile for NVIDIA H100: INTERNAL: no such thing"


def test_the_json_keeps_to_its_schema(on_gpu: Capture, on_cpu: Capture) -> None:
    for made in (on_gpu, on_cpu):
        record = json.loads(write_json(explain_code(made)))
        Draft202012Validator(describe_json(MachineCode)).validate(record)
        assert record["kernels"]
