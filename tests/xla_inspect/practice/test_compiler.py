"""The user's flags apply to compilations."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis import list_kernels
from xla_inspect.compilation import PINNED
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.practice import compiler, device, models

if TYPE_CHECKING:
    from pathlib import Path


def test_without_flags_a_capture_is_that_of_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert compiler.options_for(device.find_device("cpu")) == {}
    assert compiler.options_for(device.find_device("h100")) == {}


def test_a_flag_of_the_user_overrides_the_flag_of_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=1 --xla_disable_hlo_passes=fusion,cse")
    assert compiler.options_for(device.find_device("h100")) == {"xla_gpu_autotune_level": "1"}
    both = f"{PINNED['cpu']['xla_disable_hlo_passes']},fusion,cse"
    assert compiler.options_for(device.find_device("cpu")) == {"xla_disable_hlo_passes": both}


def test_a_pass_that_the_reader_switches_off_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = device.find_device("cpu")
    usual = compiler.compile_for(cpu, models.decay, models.shape(1024, 256))
    monkeypatch.setenv("XLA_FLAGS", "--xla_disable_hlo_passes=fusion")
    unfused = compiler.compile_for(cpu, models.decay, models.shape(1024, 256))
    assert len(list_kernels(usual)) == 1
    assert len(list_kernels(unfused)) > 5


def test_a_missing_target_is_rejected_before_any_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    with pytest.raises(TargetUnavailableError):
        compiler.dump(device.find_device("gpu"), tmp_path, models.decay, models.shape(4))
    assert list(tmp_path.iterdir()) == []


DUMPS = """
from xla_inspect.practice import compiler, device
compiler.start_jax()
from xla_inspect.practice import models
compiler.compile_for(device.find_device("cpu"), models.decay, models.shape(1024, 256))
compiler.start_jax()
"""


def test_dumps_that_the_reader_asks_for_are_written_though_the_capture_is_in_the_cache(tmp_path: Path) -> None:
    compiler.compile_for(device.find_device("cpu"), models.decay, models.shape(1024, 256))
    folder = tmp_path / "dump"
    environment = {**os.environ, "XLA_FLAGS": f"--xla_dump_to={folder}"}
    ended = subprocess.run([sys.executable, "-c", DUMPS], env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.splitlines() == ["starting JAX ..."]
    names = [path.name for path in folder.iterdir() if "jit_decay" in path.name]
    assert any(name.endswith("cpu_after_optimizations.txt") for name in names)
