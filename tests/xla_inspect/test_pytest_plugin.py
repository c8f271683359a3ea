"""The pytest plugin in a separate project: passes, failures, skips, records and isolation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """
import os
import jax, jax.numpy as jnp
ROWS = jax.ShapeDtypeStruct((256, 64), jnp.float32)
KEY = jax.random.key(0)  # with it JAX starts, before any test runs

def gate(x):
    up = jnp.tanh(x)
    return up * 2.0
"""

SETTINGS = ("JAX_", "XLA_", "TPU_", "LIBTPU", "ALLOW_MULTIPLE_LIBTPU", "PYTHON")
"""The prefixes of the variables that compilers and Python read."""

type Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function that runs tests in a separate project, as a user does."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200", "CI": "1"}
    environment |= {name: os.environ[name] for name in ("XLA_INSPECT_CACHE",) if name in os.environ}
    environment.pop("PYTEST_ADDOPTS", None)

    def runs(text: str, *words: str, **more: str) -> str:
        (tmp_path / "test_step.py").write_text(HEAD + text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN, *words]
        result = subprocess.run(
            command, cwd=tmp_path, env=environment | more, check=False, capture_output=True, text=True
        )
        return f"{result.stdout}{result.stderr}\nstatus {result.returncode}"

    return runs


def find_plugin() -> list[str]:
    """Return the options that load the plugin in an environment without its entry point."""
    from importlib.metadata import entry_points

    return [] if "xla_inspect" in entry_points(group="pytest11").names else ["-p", "pytest_xla_inspect"]


PLUGIN = find_plugin()


def test_a_true_assertion_passes_and_a_false_one_is_reported_with_line_and_pass(run: Run) -> None:
    result = run("""
def test_holds(hlo):
    step = hlo(gate, ROWS)
    step.one_kernel("up", "up * 2.0")
    assert step.kernels <= 1
    assert "1 KiB" < step.peak < "9 GiB"
    step.same_numbers_as(gate, ulp=4)

def test_numbers(hlo):
    hlo(gate, ROWS).same_numbers_as(jnp.tanh, relative=0.1)

def test_too_much(hlo):
    assert hlo(gate, ROWS).peak < "100 KiB"

def test_two(hlo):
    hlo(lambda x: jnp.sin(jax.lax.optimization_barrier(gate(x))), ROWS).one_kernel("up", "jnp.sin")

def test_typo(hlo):
    hlo(gate, ROWS).one_kernel("upp")
""")
    assert "4 failed, 1 passed" in result
    assert "BrokenError: gate on CPU does not compute the same numbers as tanh run eagerly (1 output of 1)" in result
    assert "assert peak of gate on CPU is 128 KiB, but must be < 100 KiB (28 KiB too much)" in result
    assert re.search(r"-+ xla-inspect -+\npeak of gate on CPU is 128 KiB", result)
    assert "64 KiB  test_step.py:9 `return up * 2.0`  results f32[256,64]" in result
    assert "BrokenError: up and jnp.sin of <lambda> on CPU: 2 kernels, but must be one" in result
    assert "InspectError: gate has no instruction, variable or operation 'upp'; the nearest are up" in result
    # The reader's own lines are shown, and none of this package.
    assert "compiled_program.py" not in result
    assert "result_assertions.py" not in result
    assert "selection.py" not in result


def test_a_test_without_assertions_fails_and_other_failures_are_unchanged(run: Run) -> None:
    result = run("""
def test_bare(hlo):
    step = hlo(gate, ROWS)
    step.kernels <= 14

def test_nothing(hlo):
    hlo(gate, ROWS)

def test_read(hlo):
    step = hlo(gate, ROWS)
    step.in_place
    step.kernels

def test_own_fault(hlo):
    hlo(gate, ROWS)
    raise ValueError("mine")

def test_unused(hlo):
    pass
""")
    assert "4 failed, 1 passed" in result
    assert "test_step.py:13: <kernels: 1 <= 14 holds> was compared and not asserted; write assert in front" in result
    assert "test_step.py:16: gate for cpu was compiled, but nothing was asserted about it" in result
    assert "test_step.py:21: kernels of gate on CPU was read but not compared with anything" in result
    assert "ValueError: mine" in result


def test_records_apply_in_each_process_and_a_change_is_reported(run: Run, tmp_path: Path) -> None:
    text = """
import pytest

@pytest.mark.parametrize("rows", [64, 128])
def test_recorded(hlo, rows):
    hlo(gate, jax.ShapeDtypeStruct((rows, 64), jnp.float32)).as_recorded("peak", "kernels")
"""
    assert "2 failed" in run(text)
    assert "2 passed" in run(text, "--xla-update", "-n2")
    records = json.loads((tmp_path / "test_step.xla-record.json").read_text(encoding="utf-8"))
    assert list(records["programs"]) == ["test_recorded[128] gate cpu", "test_recorded[64] gate cpu"]
    assert "2 passed" in run(text)
    result = run(text.replace("hlo(gate,", "hlo(lambda x: jax.lax.optimization_barrier(gate(x)) + 1,"))
    assert "nothing was recorded" in result
    result = run("\ndef gate(x):\n    return jax.lax.optimization_barrier(jnp.tanh(x)) * 2.0\n" + text)
    assert "Your program changed since the record, and the compiler did not: test_step.py." in result
    assert re.search(r"\d -> \d  kLoop  test_step.py:", result)
    records["format"] = 99
    (tmp_path / "test_step.xla-record.json").write_text(json.dumps(records), encoding="utf-8")
    assert "has format 99, but this xla-inspect reads format 1; record it again" in run(text)


def test_environment_and_jax_settings_are_restored_after_a_test(run: Run) -> None:
    own = """
def own():
    names = ("JAX_PLATFORMS", "JAX_NUM_CPU_DEVICES", "TPU_ACCELERATOR_TYPE", "XLA_FLAGS")
    return {name: os.environ.get(name) for name in names}, jax.config.jax_platforms, jax.device_count()
"""
    result = run(
        own
        + """
def test_before():
    assert own() == ({"JAX_PLATFORMS": None, "JAX_NUM_CPU_DEVICES": None, "TPU_ACCELERATOR_TYPE": None,
                      "XLA_FLAGS": None}, None, 1)

def test_hlo(hlo):
    assert hlo(gate, ROWS).kernels == 1
    assert not jax.config.jax_enable_x64

def test_x64(hlo):
    jax.config.update("jax_enable_x64", True)
    try:
        assert hlo(gate, jax.ShapeDtypeStruct((8,), jnp.float64)).results == "64 B"
    finally:
        jax.config.update("jax_enable_x64", False)

def test_x32(hlo):
    assert hlo(gate, jax.ShapeDtypeStruct((8,), jnp.float64)).results == "32 B"

test_after = test_before
"""
    )
    assert "5 passed" in result


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("words", [(), ("-n2",)])
def test_other_targets_are_available_if_jax_started_during_collection(run: Run, words: tuple[str, ...]) -> None:
    result = run(
        """
def test_targets(hlo):
    for target in ("h100", "tpu-v5e"):
        hlo(gate, ROWS, target=target).fits()

def test_after():
    assert "JAX_PLATFORMS" not in os.environ
    assert jax.config.jax_platforms is None
""",
        *words,
    )
    assert "2 passed" in result


def test_a_target_that_is_missing_is_a_skip_unless_it_is_required(run: Run) -> None:
    text = """
def test_missing(hlo, monkeypatch):
    from xla_inspect.targets import devices
    monkeypatch.setattr(devices, "find_version", lambda name: None if name == "libtpu" else "1")
    hlo(gate, ROWS, target="tpu-v5e").fits()
"""
    text += text.replace("test_missing", "test_fitting").replace('target="tpu-v5e").fits()', ').fits("tpu-v5e")')
    result = run(text, "-rs", REQUIRE_TARGETS="")
    assert "2 skipped" in result
    assert "target 'tpu-v5e' is not available here: libtpu not installed; run " in result
    assert "2 failed" in run(text, "--xla-require-targets", REQUIRE_TARGETS="")
    assert "2 failed" in run(text, REQUIRE_TARGETS="all")


def test_it_works_with_other_options_and_can_be_disabled(run: Run) -> None:
    text = """
def test_much(hlo):
    assert hlo(gate, ROWS).peak < "100 KiB", "my own words"

def test_plain():
    assert 1 < 2
"""
    result = run(text, "--assert=plain")
    assert re.search(r"-+ xla-inspect -+\npeak of gate on CPU is 128 KiB, but must be < 100 KiB", result)
    assert "my own words" in run(text)
    if not PLUGIN:
        assert "fixture 'hlo' not found" in run(text, "-p", "no:xla_inspect")


START = """
import sys
before = set(sys.modules)
import pytest_xla_inspect
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def test_pytest_starts_without_the_package_and_without_jax() -> None:
    code = f"import pytest, contextlib, pathlib\n{START}"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.split() == ["pytest_xla_inspect"]
    assert Path(sys.modules["xla_inspect"].__file__).parent.parent.joinpath("pytest_xla_inspect.py").is_file()


def test_the_users_platform_stays(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import os\n\nos.environ['JAX_PLATFORMS'] = 'cpu'\n", encoding="utf-8")
    assert "1 passed" in run("""
def test_plain():
    assert os.environ["JAX_PLATFORMS"] == jax.config.jax_platforms == "cpu"
""")


def test_a_failure_reports_only_the_failed_comparison(run: Run) -> None:
    result = run("""
def test_other(hlo):
    step = hlo(gate, ROWS)
    assert not step.kernels > 5
    assert 1 == 2

def test_own(hlo):
    step = hlo(gate, ROWS)
    assert not step.kernels > 5
    assert step.kernels > 7
""")
    assert "2 failed" in result
    assert "must be > 5" not in result
    assert "must be > 7" in result


def test_importing_the_package_keeps_its_settings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import xla_inspect\n", encoding="utf-8")
    result = run("""
def test_before():
    assert (os.environ["JAX_PLATFORMS"], jax.device_count()) == ("cpu", 8)

def test_eight(hlo):
    program = hlo(lambda x: x * 2, ROWS, mesh={"data": 8}, target="cpu:8")
    program.none("all-gather")

test_after = test_before
""")
    assert "3 passed" in result
