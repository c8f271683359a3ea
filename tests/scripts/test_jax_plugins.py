"""Tests of the plugin namespace: a user's script in the project's environment prints only its result.

JAX still uses the machine's accelerators.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from quiet_rocm_plugin import call_quietly

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import jax
import jax.numpy as jnp

print(jax.jit(lambda x: x * 2 + 1)(jnp.ones(3)))
"""

SEARCH = """
import importlib.util, sys

print(importlib.util.find_spec("jax_plugins.xla_cuda13").name, "jax" in sys.modules)
"""


def run(program: str, folder: Path) -> tuple[str, str]:
    file = folder / "own.py"
    file.write_text(program, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TPU_", "XLA_"))}
    ended = subprocess.run([sys.executable, file], cwd=folder, env=clean, capture_output=True, text=True, check=True)
    return ended.stdout, ended.stderr


def test_a_script_prints_its_result_and_no_error(tmp_path: Path) -> None:
    assert run(SCRIPT, tmp_path) == ("[3. 3. 3.]\n", "")


@pytest.mark.parametrize(
    ("device", "variable", "chosen", "platforms"),
    [
        ("", "", None, "cpu"),
        ("nvidiactl", "", None, None),
        ("dxg", "", None, None),
        ("vfio/[0-9]*", "", None, None),
        ("", "TPU_WORKER_ID", None, None),
        ("", "", "cuda,cpu", "cuda,cpu"),
        ("", "", "", ""),
    ],
)
def test_jax_uses_the_cpu_unless_a_platform_is_chosen_or_an_accelerator_exists(
    device: str, variable: str, chosen: str | None, platforms: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("TPU_")]:
        monkeypatch.delenv(name)
    if variable:
        monkeypatch.setenv(variable, "0")
    monkeypatch.setattr(Path, "glob", lambda *place: [Path(*place)] if place == (Path("/dev"), device) else [])
    config = SimpleNamespace(jax_platforms=chosen)
    config.update = lambda name, value: setattr(config, name, value)
    monkeypatch.setitem(sys.modules, "jax._src.config", SimpleNamespace(config=config))
    runpy.run_path(str(ROOT / "scripts" / "jax_plugins" / "__init__.py"), {"__path__": []}, "jax_plugins")
    assert config.jax_platforms == platforms


def test_only_the_absence_of_an_amd_gpu_is_no_error() -> None:
    def fail(message: str) -> None:
        raise ValueError(message)

    call_quietly(lambda: fail("No AMD GPUs were found, skipping ROCm plugin initialization"))
    with pytest.raises(ValueError, match="ROCm is too old"):
        call_quietly(lambda: fail("ROCm is too old"))


@pytest.mark.usefixtures("all_targets")
def test_a_plugin_is_found_without_importing_jax(tmp_path: Path) -> None:
    assert run(SEARCH, tmp_path)[0] == "jax_plugins.xla_cuda13 False\n"
