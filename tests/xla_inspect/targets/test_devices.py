"""Targets, their devices, and reasons for missing ones."""

from __future__ import annotations

import pytest
from jax import ShapeDtypeStruct
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from xla_inspect import TARGETS, InspectError, TargetUnavailableError, available, capture
from xla_inspect.targets import TILING_MODEL, devices, explain_tiles, find_target, knows_gpu_option


def test_an_unknown_target_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(InspectError, match=f"'tpu-v9'; the targets are {', '.join(TARGETS)}"):
        capture(lambda x: x, 1.0, target="tpu-v9")


@pytest.mark.parametrize("name", ["h100:many", "h100:", "h100:2x4", "tpu-v5e:2x", "cpu:0"])
def test_a_malformed_topology_is_refused(name: str) -> None:
    with pytest.raises(InspectError, match="the part after the colon must be"):
        find_target(name)


@pytest.mark.usefixtures("all_targets")
def test_a_topology_that_does_not_exist_is_refused_in_the_compilers_words() -> None:
    with pytest.raises(InspectError, match=r"'tpu-v5e:9x9': the compiler rejects this topology: INVALID_ARGUMENT"):
        find_target("tpu-v5e:9x9").devices()


def test_a_cpu_can_have_several_devices() -> None:
    rows = NamedSharding(Mesh(find_target("cpu:8").devices(), ("x",)), PartitionSpec("x"))
    example = ShapeDtypeStruct((16, 8), "float32", sharding=rows)
    assert "num_partitions=8" in capture(lambda x: x.sum(), example, target="cpu:8").after


@pytest.mark.usefixtures("all_targets")
def test_a_target_may_have_several_devices() -> None:
    assert [len(find_target(name).devices()) for name in ("h100", "mi300x:8", "tpu-v5e", "tpu-v5e:2x4")] == [1, 8, 4, 8]


def test_a_target_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "find_version", lambda name: "1" if name in {"jax", "jaxlib"} else None)
    monkeypatch.setattr(devices.sys, "platform", "linux")
    monkeypatch.setattr(devices.platform, "machine", lambda: "x86_64")
    reasons = available()
    assert reasons["cpu"] == ""
    assert reasons["tpu-v5e"] == "libtpu not installed; run `uv sync`"
    assert reasons["h100"] == (
        "jax-cuda13-plugin, jax-cuda13-pjrt, nvidia-cuda-nvcc, nvidia-nvvm not installed; run `uv sync`"
    )
    assert reasons["mi300x"] == "jax-rocm7-pjrt, pyelftools not installed; run `uv sync`"
    with pytest.raises(TargetUnavailableError, match="libtpu not installed"):
        capture(lambda x: x, 1.0, target="tpu-v5e")


def test_a_target_on_another_machine_says_that_its_compiler_is_not_made_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.sys, "platform", "darwin")
    monkeypatch.setattr(devices.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(devices.platform, "machine", lambda: "arm64")
    expected = "its compiler exists only for Linux on x86-64, and this machine is Darwin arm64"
    assert available() == {name: "" if name == "cpu" else expected for name in TARGETS}


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("platform", ["cuda", "rocm"])
def test_a_plugin_has_the_options_whose_names_are_in_its_library(platform: str) -> None:
    assert knows_gpu_option("xla_gpu_autotune_level", platform)
    assert not knows_gpu_option("xla_gpu_no_such_option", platform)


def test_tiles_are_estimated_timed_or_the_first_of_a_list() -> None:
    off = {"xla_gpu_autotune_level": 0}
    assert explain_tiles({**off, TILING_MODEL: True}) == "chosen by a cost model, not measured"
    assert explain_tiles({**off, TILING_MODEL: "false"}).startswith("the first on XLA's list")
    assert explain_tiles(off).startswith("the first on XLA's list")
    assert explain_tiles({"xla_gpu_autotune_level": 4, TILING_MODEL: True}) == explain_tiles({}) == ""
