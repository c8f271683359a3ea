"""The peaks of AMD's GPUs, and the names of their libraries."""

from __future__ import annotations

import pytest

from xla_inspect.analysis.estimates import COLLECT, find_rates, list_options
from xla_inspect.targets import find_hardware, find_terms

AMD = ("mi250", "mi300x", "mi350x")


def roofs(target: str, *kinds: str) -> list[tuple[str, float]]:
    """Return the name and the rate, in 10^12 operations per second, of the unit for each kind of product."""
    hardware = find_hardware(target)
    assert hardware is not None
    units = [hardware.find_product(kind) for kind in kinds]
    return [(unit.name, round(unit.rate / 1e12, 2)) for unit in units if unit]


def test_a_die_of_an_mi250_has_half_of_the_rates_of_the_package() -> None:
    hardware = find_hardware("mi250")
    assert hardware is not None
    assert hardware.devices == 2
    assert roofs("mi250", "bf16", "f32") == [("bf16 matrix cores", 181.05), ("f32 matrix cores", 45.25)]
    # AMD publishes 3.2 TB/s and 128 GB for the package.
    assert (hardware.bandwidth, hardware.memory) == (1638.4e9, 67_628_957_696)
    assert find_hardware("mi250:8") == hardware


def test_only_an_mi300x_reads_float32_factors_as_xf32() -> None:
    kinds = ("f32", "f32 high", "f32 highest")
    assert roofs("mi300x", *kinds) == [("xf32 matrix cores", 653.7)] * 2 + [("f32 matrix cores", 163.4)]
    assert roofs("mi350x", *kinds) == [("f32 matrix cores", 144.2)] * 3


def test_float8_types_that_the_matrix_cores_lack_are_multiplied_as_float16() -> None:
    kinds = ("f8e4m3fn", "f8e4m3fnuz")
    assert roofs("mi250", *kinds) == [("f16 matrix cores", 181.05)] * 2
    assert roofs("mi300x", *kinds) == [("f16 matrix cores", 1307.4), ("f8e4m3fnuz matrix cores", 2614.9)]
    assert roofs("mi350x", *kinds) == [("f8e4m3fn matrix cores", 4613.7), ("f16 matrix cores", 2306.9)]


def test_operations_without_a_published_rate_count_as_float32() -> None:
    hardware = find_hardware("mi300x")
    assert hardware is not None
    others = [hardware.find_other(dtype) for dtype in ("f32", "f64", "s32", "pred")]
    assert [unit.name for unit in others if unit] == [f"{dtype} vector units" for dtype in ("f32", "f64", "f32", "f32")]


@pytest.mark.parametrize("target", AMD)
def test_each_amd_gpu_has_rates_with_amd_as_their_source(target: str) -> None:
    rates = find_rates(f"{target}:8")
    assert rates is not None
    assert rates.sources[0].startswith("https://www.amd.com/en/products/accelerators/instinct/")
    assert rates.fabric is not None
    assert rates.network is not None
    assert rates.fabric > rates.network
    # With this option, the compiler rejects each matmul for an MI250.
    assert (COLLECT in list_options(target)) == (target != "mi250")


@pytest.mark.parametrize(
    ("call", "library"),
    [
        ("__cublas$lt$matmul", "hipBLASLt"),
        ("__cublas$lt$groupedMatmul", "hipBLASLt"),
        ("__cublas$gemm", "rocBLAS"),
        ("__cudnn$convForward", "MIOpen"),
        ("hipsolver_potrf_ffi", "hipSOLVER"),
        ("__triton", ""),
    ],
)
def test_a_custom_call_on_an_amd_gpu_has_the_name_of_its_library(call: str, library: str) -> None:
    for target in ("mi300x", "mi300x:8", "gfx90a"):
        assert find_terms(target).name_library(call) == library
    assert not find_terms("h100").name_library(call)
