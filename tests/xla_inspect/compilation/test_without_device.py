"""Programs that compile for AMD GPUs although parts of ROCm are missing, and errors that name what was called."""

from __future__ import annotations

import ctypes
from dataclasses import fields
from itertools import product
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from programs import tiled_product
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.compilation import adapt_options, stand_ins
from xla_inspect.targets import CUB_SORT, TARGETS, explain_missing_gpu, find_target

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("all_targets")

IMAGE, FILTER, WEIGHTS = jnp.ones((8, 32, 32, 16)), jnp.ones((3, 3, 16, 32)), jnp.ones((32, 10))


def classify(image: jax.Array, weights: jax.Array, last: jax.Array) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    features = jax.nn.relu(jax.lax.conv_general_dilated(image, weights, (1, 1), "SAME", dimension_numbers=layout))
    return jax.nn.softmax(features.mean((1, 2)) @ last)


def test_a_convolution_compiles_without_an_algorithm_and_the_capture_has_the_options() -> None:
    result = capture(classify, IMAGE, FILTER, WEIGHTS, target="mi300x")
    assert "__cudnn$conv" in result.after
    assert result.options["xla_disable_hlo_passes"] == "config-assigner"
    assert result.options["xla_gpu_enable_triton_gemm"] is False
    assert "MIOpen chooses the algorithms." in explain_missing_gpu(result.options, result.after)


def test_the_readers_own_choice_of_passes_stays() -> None:
    convolution, target = "%0 = stablehlo.convolution(%1, %2)", find_target("mi250")
    options = adapt_options(target, convolution, {"xla_disable_hlo_passes": "algsimp"})
    assert options["xla_disable_hlo_passes"] == "algsimp,config-assigner"
    assert adapt_options(target, convolution, options) == options
    assert adapt_options(target, "stablehlo.add", {"a": 1}) == {"a": 1}
    assert adapt_options(find_target("h100"), convolution, {"a": 1}) == {"a": 1}


def find_distinct(x: jax.Array) -> jax.Array:
    return jnp.unique(x, size=9)


def find_largest(x: jax.Array) -> jax.Array:
    return jax.lax.approx_max_k(x, 50)[0]


GPUS = [name for name in TARGETS if find_target(name).kind == "gpu"]
SORTS = [*product([jnp.sort], GPUS), *product([jnp.argsort, find_distinct, find_largest], ["h100"])]


@pytest.mark.parametrize(("function", "target"), SORTS)
def test_many_elements_are_sorted_without_the_library_that_asks_for_the_gpu(
    function: Callable[[jax.Array], jax.Array], target: str
) -> None:
    result = capture(function, jnp.ones(65536, jnp.float32), target=target, passes=False)
    assert " sort(" in result.after
    assert "cub" not in result.after
    assert "the library CUB may sort" in explain_missing_gpu(result.options, result.after)


def test_only_programs_with_sorts_are_compiled_without_the_library_for_them() -> None:
    h100, cpu, sort = find_target("h100"), find_target("cpu"), '%0 = "stablehlo.sort"(%1)'
    assert adapt_options(h100, sort, {}) == {CUB_SORT: False}
    assert adapt_options(h100, sort, {CUB_SORT: True}) == {CUB_SORT: True}
    assert adapt_options(h100, "stablehlo.add", {}) == adapt_options(cpu, sort, {}) == {}
    assert not explain_missing_gpu({CUB_SORT: False}, "%y = f32[4] add(%x, %x)")
    with pytest.raises(RuntimeError, match="cudaErrorInvalidDevice"):
        capture(jnp.sort, jnp.ones(65536), target="h100", options={CUB_SORT: True})


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (jnp.linalg.cholesky, "hipsolver_potrf_ffi"),
        (jnp.linalg.eigh, "hipsolver_syevd_ffi"),
        (lambda x: jax.pure_callback(lambda y: y, x, x), "xla_ffi_python_gpu_callback"),
    ],
)
def test_functions_of_custom_calls_need_not_be_there(function: object, call: str) -> None:
    assert f'custom_call_target="{call}"' in capture(function, jnp.ones((16, 16)), target="mi350x").after  # type: ignore[arg-type]


def attend(query: jax.Array) -> jax.Array:
    return jax.nn.dot_product_attention(query, query, query, implementation="cudnn", is_causal=True)


def test_calls_of_nvidias_libraries_are_written_although_jax_asks_for_their_versions() -> None:
    query = jax.ShapeDtypeStruct((2, 128, 4, 256), jnp.bfloat16)
    result = capture(jax.grad(lambda y: attend(y).sum()), query, target="h100")
    calls = [kernel.instruction.custom_call_target for kernel in list_kernels(result)]
    assert {"__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward"} <= {*calls}
    assert "for cuDNN 9.12" in explain_missing_gpu(result.options, result.after)
    solved = capture(lambda x: jnp.linalg.eig(x)[0], jnp.ones((16, 16)), target="b200")
    assert "cusolver_geev_ffi" in solved.after
    # Outside of a capture, JAX still says that they are missing.
    with pytest.raises(RuntimeError, match="cuDNN not found"):
        jax.eval_shape(attend, query)


def test_a_function_that_is_not_rocms_is_still_missing() -> None:
    with pytest.raises(RuntimeError, match="No FFI handler registered for my_kernel") as error:
        capture(lambda x: jax.ffi.ffi_call("my_kernel", x)(x), jnp.ones(4), target="mi300x")
    assert "ROCm library" not in str(error.value)


def test_a_failed_compile_names_the_last_call_of_a_library_that_stands_in_for_rocms() -> None:
    mi300x, message = find_target("mi300x"), "INTERNAL: no device"
    mi300x.devices()

    def fail() -> None:
        raise RuntimeError(message)

    def call_library() -> None:
        with stand_ins(mi300x, b""):
            ctypes.CDLL("libamdhip64.so.7").hipGetDeviceCount(None)
            fail()

    def call_nothing() -> None:
        with stand_ins(mi300x, b""):
            fail()

    with pytest.raises(RuntimeError, match=r"no device\nThe last call .* hipGetDeviceCount of libamdhip64\.so\.7"):
        call_library()
    # The calls of an earlier compile do not count.
    with pytest.raises(RuntimeError, match=r"no device$"):
        call_nothing()


def test_the_log_of_a_second_compile_has_the_reasons() -> None:
    result = capture(classify, IMAGE, FILTER, WEIGHTS, target="mi300x", reasons=True)
    assert {event.source for event in result.log} >= {"priority_fusion"}


def solve(x: jax.Array) -> jax.Array:
    return jnp.tanh(jnp.linalg.cholesky(x)) @ x


@pytest.mark.parametrize("function", [jax.nn.softmax, solve])
def test_an_earlier_compile_in_the_process_changes_only_times(
    function: Callable[[jax.Array], jax.Array],
) -> None:
    first, second = (capture(function, jnp.ones((16, 16)), target="mi300x", reasons=True) for _ in range(2))
    assert [field.name for field in fields(first) if getattr(first, field.name) != getattr(second, field.name)] == [
        "times"
    ]


def test_passes_have_durations_although_no_profiler_of_rocm_is_there() -> None:
    result = capture(jax.nn.softmax, jnp.ones((128, 1024)), target="mi300x")
    assert len(result.runs) == len(result.times.passes)
    assert sum(result.times.passes) > 0


def test_a_pallas_kernel_compiles_for_a_gpu_that_is_not_present() -> None:
    result = capture(tiled_product.tiled_product, *tiled_product.SQUARES, target="mi350x")
    assert [thunk.shared_memory for thunk in result.thunks] == [72 << 10]


def test_a_kernel_with_too_much_shared_memory_is_rejected_as_on_a_real_mi300x() -> None:
    # The report of a real device has the same sizes: https://github.com/ROCm/rocm-jax/issues/404
    with pytest.raises(RuntimeError, match="Shared memory size limit exceeded: requested 73728, available: 65536"):
        capture(tiled_product.tiled_product, *tiled_product.SQUARES, target="mi300x")
