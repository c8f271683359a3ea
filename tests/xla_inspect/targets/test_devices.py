"""Targets: which there are, their devices, and why one is missing."""

from __future__ import annotations

import pytest
from jax import ShapeDtypeStruct
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from xla_inspect import TARGETS, InspectError, TargetUnavailableError, available, capture
from xla_inspect.targets import devices, find


def test_an_unknown_target_is_answered_with_those_there_are() -> None:
    with pytest.raises(InspectError, match=f"'tpu-v9'; the targets are {', '.join(TARGETS)}"):
        capture(lambda x: x, 1.0, target="tpu-v9")


@pytest.mark.parametrize("name", ["h100:many", "h100:", "h100:2x4", "tpu-v5e:2x", "cpu:0"])
def test_a_malformed_topology_is_refused(name: str) -> None:
    with pytest.raises(InspectError, match="after the colon stands"):
        find(name)


@pytest.mark.usefixtures("all_targets")
def test_a_topology_that_does_not_exist_is_refused_in_the_compilers_words() -> None:
    with pytest.raises(InspectError, match=r"'tpu-v5e:9x9': the compiler refuses this topology: INVALID_ARGUMENT"):
        find("tpu-v5e:9x9").devices()


def test_a_cpu_may_stand_for_several_devices() -> None:
    rows = NamedSharding(Mesh(find("cpu:8").devices(), ("x",)), PartitionSpec("x"))
    example = ShapeDtypeStruct((16, 8), "float32", sharding=rows)
    assert "num_partitions=8" in capture(lambda x: x.sum(), example, target="cpu:8").after


@pytest.mark.usefixtures("all_targets")
def test_a_target_may_have_several_devices() -> None:
    assert [len(find(name).devices()) for name in ("h100", "h100:8", "tpu-v5e", "tpu-v5e:2x4")] == [1, 8, 4, 8]


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
    with pytest.raises(TargetUnavailableError, match="libtpu not installed"):
        capture(lambda x: x, 1.0, target="tpu-v5e")


def test_a_target_on_another_machine_says_that_its_compiler_is_not_made_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.sys, "platform", "darwin")
    monkeypatch.setattr(devices.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(devices.platform, "machine", lambda: "arm64")
    expected = "its compiler exists for Linux on x86-64 only, and this is Darwin arm64"
    assert available() == {name: "" if name == "cpu" else expected for name in TARGETS}
