"""Peak figures of one device match the vendors' published ones."""

from __future__ import annotations

import math

import pytest

from xla_inspect import targets
from xla_inspect.targets.hardware import explain_absence, find_hardware, read_description

# https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf
# https://www.nvidia.com/en-us/data-center/h100/ and /h200/ (SXM; products without the sparsity that the tables assume)
DATASHEETS = {
    "a100": (2.039e12, {"bf16": 312e12, "f32": 156e12, "s8": 624e12, "f64": 19.5e12}, 19.5e12),
    "h100": (3.35e12, {"bf16": 989e12, "f32": 494e12, "s8": 1979e12, "f8e4m3fn": 1979e12, "f64": 67e12}, 67e12),
    "h200": (4.8e12, {"bf16": 989e12, "f32": 494e12, "s8": 1979e12, "f8e4m3fn": 1979e12, "f64": 67e12}, 67e12),
}


@pytest.mark.parametrize("target", DATASHEETS)
def test_device_descriptions_match_the_datasheets(target: str) -> None:
    bandwidth, products, single = DATASHEETS[target]
    hardware = find_hardware(target)
    assert hardware is not None
    assert hardware.bandwidth == pytest.approx(bandwidth, rel=0.001)
    assert {dtype: hardware.matrix[dtype] for dtype in products} == pytest.approx(products, rel=0.01)
    assert hardware.vector["f32"] == pytest.approx(single, rel=0.01)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", [name for name in targets.TARGETS if name.startswith("tpu")])
def test_a_tpu_device_has_the_figures_of_its_share_of_the_chip(target: str) -> None:
    hardware = find_hardware(target)
    assert hardware is not None
    topology = targets.find_target(target).topology
    chips = math.prod(map(int, topology.split("x")))
    assert len(targets.find_target(target).devices()) == chips * hardware.devices
    assert hardware.source.startswith("https://docs.cloud.google.com/tpu/docs/")


def test_a_share_applies_to_bandwidth_and_operations() -> None:
    hardware = find_hardware("tpu7x")
    assert hardware is not None
    assert (hardware.devices, hardware.bandwidth * 2, hardware.matrix["bf16"] * 2) == (2, 7380e9, 2307e12)


def test_every_accelerator_has_figures_and_the_cpu_says_why_it_has_none() -> None:
    with_figures = [target for target in targets.TARGETS if find_hardware(target)]
    assert with_figures == [target for target in targets.TARGETS if target != "cpu"]
    assert "CPU has no roofline" in explain_absence("cpu")
    assert find_hardware("tpu-v5e:2x4") == find_hardware("tpu-v5e")


def test_float32_products_run_on_the_units_that_multiply_them() -> None:
    gpu, tpu = find_hardware("h100"), find_hardware("tpu-v5e")
    assert gpu is not None
    assert tpu is not None
    kinds = ("f32", "f32 high", "f32 highest", "bf16", "s8", "s32")
    roofs = {kind: gpu.find_product(kind) for kind in kinds}
    assert [roof and roof.name for roof in roofs.values()] == [
        *("TF32 tensor cores", "TF32 tensor cores", "f32 CUDA cores", "bf16 tensor cores", "s8 tensor cores"),
        "s32 CUDA cores",
    ]
    rates = {kind: roof.rate for kind in kinds if (roof := tpu.find_product(kind))}
    whole = tpu.matrix["bf16"]
    assert rates == {"f32": whole, "f32 high": whole / 3, "f32 highest": whole / 6, "bf16": whole, "s8": 393e12}
    assert tpu.find_other("f32") is None
    assert (tpu.gap != "", gpu.gap) == (True, "")


def test_a_device_description_with_a_missing_figure_is_rejected() -> None:
    with pytest.raises(ValueError, match="no field 'core_count'"):
        read_description("h100", "gpu_device_info {\n}\n")
