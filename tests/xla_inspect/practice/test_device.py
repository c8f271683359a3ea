"""The local GPU as a target, tested on machines without one."""

from __future__ import annotations

import pytest

from xla_inspect import targets
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.practice import compiler, device, models, tables


def test_the_other_targets_are_those_of_the_package() -> None:
    assert device.find_device("h100:8") == targets.find_target("h100:8")
    assert (*targets.TARGETS, "gpu") == device.NAMES
    with pytest.raises(InspectError, match="no target is named 'gpus'"):
        device.find_device("gpus")


def test_a_gpu_disabled_in_jax_is_reported_as_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    gpu = device.find_device("gpu")
    assert "set JAX_PLATFORMS=cuda,cpu before Python starts" in gpu.obstacle
    with pytest.raises(TargetUnavailableError):
        compiler.compile_for(gpu, models.decay, models.shape(4))
    monkeypatch.setenv("JAX_PLATFORMS", "cuda,cpu")
    assert gpu.obstacle == ""


def test_a_gpu_that_jax_does_not_find_is_reported_with_jaxs_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cuda,cpu")
    # JAX has started for the CPU alone, as where there is no driver.
    with pytest.raises(TargetUnavailableError, match=r"JAX finds none .*cuda.*--target h100 needs no GPU"):
        device.find_device("gpu").devices()


def test_a_program_is_compiled_for_the_gpu_that_jax_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    # A GPU that is not here stands for one that is: what is done with it until it runs is the same.
    monkeypatch.setattr(device.Device, "devices", lambda _: targets.find_target("h100").devices())
    monkeypatch.setenv("JAX_PLATFORMS", "cuda,cpu")
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    executable = compiler.compile_for(device.find_device("gpu"), models.center, models.shape(1024, 256))
    assert (executable.target, executable.options["xla_gpu_autotune_level"]) == ("gpu", 4)
    assert tables.describe_kernels(executable) == [
        ("triton_softmax.1", "kCustom __triton", "reduce, 2 broadcast, multiply, subtract")
    ]
