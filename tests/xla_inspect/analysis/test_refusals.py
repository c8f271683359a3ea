"""Out-of-memory errors with the memory's name, size, limit, line and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plgpu

from xla_inspect import capture
from xla_inspect.analysis import find_refusal, name_failure, read_refusal
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.memory import explain_memory
from xla_inspect.questions.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture

MIB = 1 << 20
X = jax.ShapeDtypeStruct((4096, 2048), jnp.float32)


def copy_kernel(x_ref: Any, o_ref: Any, *_: Any) -> None:  # noqa: ANN401 - references have no public type
    o_ref[...] = x_ref[...] + 1


def call_blocks(x: jax.Array, rows: int, **options: Any) -> jax.Array:  # noqa: ANN401 - as pallas_call has them
    block = pl.BlockSpec((rows, x.shape[1]), lambda row: (row, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    called = pl.pallas_call(
        copy_kernel, shape, grid=(x.shape[0] // rows,), in_specs=[block], out_specs=block, **options
    )
    return called(x)  # type: ignore[no-any-return]  # as above


def large_blocks(x: jax.Array) -> jax.Array:
    return call_blocks(x, 1024)


def multiply(x: jax.Array, size: int = 256) -> jax.Array:
    def kernel(x_ref: Any, o_ref: Any) -> None:  # noqa: ANN401 - as above
        def add(step: jax.Array, total: jax.Array) -> jax.Array:
            part = plgpu.load(x_ref.at[:, pl.ds(step * size, size)])
            return jnp.add(total, plgpu.dot(part, part.T))

        o_ref[...] = jax.lax.fori_loop(0, 8, add, jnp.zeros((size, size), jnp.float32))

    shape = jax.ShapeDtypeStruct((size, size), jnp.float32)
    called = pl.pallas_call(kernel, shape, compiler_params=plgpu.CompilerParams(num_warps=8, num_stages=2))
    return called(x[:size])  # type: ignore[no-any-return]  # as above


def compile_refused(function: Callable[..., jax.Array], target: str) -> Capture:
    with pytest.raises(RuntimeError) as raised:
        capture(function, X, target=target, passes=False)
    failed_capture: Capture = raised.value.capture  # type: ignore[attr-defined]  # what the compiler left
    return failed_capture


CALLED = "return called(x)  #"


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(
    ("function", "target", "expected"),
    [
        (large_blocks, "tpu-v5e", ("VMEM", 32 * MIB, 16 * MIB, CALLED)),
        (large_blocks, "tpu-v4", ("VMEM", 32 * MIB, 16 * MIB, CALLED)),
        (
            lambda x: call_blocks(x, 2048, compiler_params=pltpu.CompilerParams(vmem_limit_bytes=48 * MIB)),
            "tpu-v5e",
            ("VMEM", 64 * MIB, 48 * MIB, CALLED),
        ),
        (
            lambda x: call_blocks(x, 8, scratch_shapes=[pltpu.SMEM((1 << 22,), jnp.float32)]),
            "tpu-v6e",
            ("SMEM", 16 * MIB, MIB, CALLED),
        ),
        (
            lambda x: call_blocks(x, 8, scratch_shapes=[pltpu.SemaphoreType.DMA((100_000,))]),
            "tpu-v5e",
            ("semaphore memory", 400_000, 2048, CALLED),
        ),
        (multiply, "h100", ("shared memory", None, 232_448, "return called(x[:size])")),
    ],
)
def test_an_exceeded_on_chip_memory_is_reported_with_size_limit_and_line(
    function: Callable[..., jax.Array], target: str, expected: tuple[str, int, int, str]
) -> None:
    failed_capture = compile_refused(function, target)
    space, needed_size, limit, code = expected
    refusal = find_refusal(failed_capture)
    assert refusal is not None
    assert (refusal.space, refusal.limit_bytes) == (space, limit)
    assert (refusal.needed_bytes or 0) == needed_size if needed_size else (refusal.needed_bytes or 0) > limit
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    name, _, number = refusal.place.partition(":")
    assert name == Path(__file__).name
    assert lines[int(number) - 1].strip().startswith(code)
    memory = explain_memory(failed_capture, "f")
    assert (memory.fits, memory.holds, memory.needed_bytes) == (False, False, memory.needed_bytes)
    sentence = f"out of {space} ("
    assert all(
        sentence in str(answer)
        for answer in (memory, rank_launches(failed_capture), summarize("f", [failed_capture], ""))
    )
    assert "donat" not in str(memory)


@pytest.mark.usefixtures("all_targets")
def test_the_proposed_vmem_limit_is_enough() -> None:
    refusal = find_refusal(compile_refused(large_blocks, "tpu-v5e"))
    assert refusal is not None
    assert f"vmem_limit_bytes={32 * MIB}" in refusal.remedy
    assert not capture(large_blocks, X, target="tpu-v5e", passes=False, options=refusal.vmem_options).error
    whole = find_refusal(compile_refused(large_blocks, "tpu-v4"))
    assert whole is not None
    assert (whole.vmem_options, "limit" in whole.remedy) == ({}, False)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "Ran out of memory on HBM, the total memory for HLO temporaries (77.53G) exceeds available HBM (15.75G).",
            "out of HBM (77.5 GiB needed, 15.8 GiB available)",
        ),
        (
            "Ran out of memory in memory space hbm. Used 20.50G of 15.75G hbm. Exceeded hbm capacity by 4.75G.",
            "out of HBM (20.5 GiB needed, 15.8 GiB available)",
        ),
        (
            "ptxas fatal: Entry function 'k' uses too much shared data (0x14000 bytes, 0xc000 max)",
            "out of shared memory (80 KiB needed, 48 KiB available) in k",
        ),
        (
            "Mosaic GPU kernel exceeds available shared memory: smem_bytes=1048576 > max_smem_bytes=232448",
            "out of shared memory (1 MiB needed, 227 KiB available)",
        ),
        (
            "RESOURCE_EXHAUSTED: Out of memory allocating 1099511627776 bytes.",
            "out of the memory of this machine (1 TiB needed)",
        ),
        (
            "RESOURCE_EXHAUSTED: Not enough SMEM to load tuple addresses.",
            "over a limit of the compiler: RESOURCE_EXHAUSTED: Not enough SMEM to load tuple addresses.",
        ),
        (
            "Ran out of memory in memory space tilespmem while allocating",
            "out of the memory space 'tilespmem' (Ran out of memory in memory space tilespmem while allocating)",
        ),
    ],
)
def test_each_form_of_a_refusal_is_read_and_an_unknown_memory_is_not_called_hbm(error: str, sentence: str) -> None:
    refusal = read_refusal(error)
    assert refusal is not None
    assert refusal.sentence == sentence


@pytest.mark.usefixtures("all_targets")
def test_another_error_is_not_out_of_memory_and_its_first_line_is_reported() -> None:
    assert read_refusal("UNIMPLEMENTED: no such thing") is None
    program = capture(lambda x: jnp.sort(x, axis=-1), X, target="cpu", passes=False)
    assert (find_refusal(program), name_failure(program)) == (None, "")


@pytest.mark.usefixtures("all_targets")
def test_a_fitting_kernel_uses_vmem_for_two_copies_of_its_blocks() -> None:
    rows = rank_launches(capture(lambda x: call_blocks(x, 128), X, target="tpu-v5e", passes=False)).launches
    # A block of 128 rows in, one out, each twice: in one the kernel works while the other is copied.
    assert [row.vmem_bytes for row in rows] == [2 * 2 * 128 * 2048 * 4]


@pytest.mark.usefixtures("all_targets")
def test_the_shared_memory_of_a_kernel_that_fits_is_in_its_row() -> None:
    kernels = rank_launches(capture(lambda x: multiply(x, 64), X, target="h100", passes=False))
    row = next(row for row in kernels.launches if row.kind == "custom-call")
    assert row.shared_bytes
    assert f"{row.shared_bytes >> 10} KiB shared" in " ".join(str(kernels).split())
