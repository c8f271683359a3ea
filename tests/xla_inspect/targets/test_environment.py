"""JAX is quiet and compiles for every target in any order of imports."""

from __future__ import annotations

import ast
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import xla_inspect
from xla_inspect import TARGETS
from xla_inspect.targets import environment

PACKAGE = Path(xla_inspect.__file__).parent
COMPILE_FOR_ALL = """
import sys, xla_inspect
assert "jax" not in sys.modules
import jax
from xla_inspect.analysis import list_kernels
for name in sys.argv[1:]:
    found = xla_inspect.capture(lambda x: x + 1, jax.ShapeDtypeStruct((4,), "float32"), target=name)
    print(name, len(list_kernels(found)) > 0)
print(jax.default_backend(), jax.numpy.ones(2).sum())
"""


def run(script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TPU_", "JAX_", "XLA_"))}
    clean.pop("ALLOW_MULTIPLE_LIBTPU_LOAD", None)
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**clean, **environment}
    )


@pytest.mark.long("many processes compile the same")
@pytest.mark.usefixtures("all_targets")
def test_two_processes_compile_for_every_target_at_once_and_print_nothing_on_stderr() -> None:
    both = [run(COMPILE_FOR_ALL, *TARGETS, XLA_INSPECT_CACHE="off") for _ in range(2)]
    expected = "".join(f"{name} True\n" for name in TARGETS) + "cpu 2.0\n"
    assert [process.communicate() for process in both] == [(expected, "")] * 2


def test_importing_jax_first_works_if_it_was_not_used() -> None:
    script = "import jax, xla_inspect; print(xla_inspect.capture(lambda x: x + 1, 1.0).options['xla_cpu_max_isa'])"
    feature = "AVX2" if platform.machine().lower() in {"x86_64", "amd64"} else "host"
    assert run(script, XLA_INSPECT_CACHE="off").communicate() == (f"{feature}\n", "")


@pytest.mark.usefixtures("all_targets")
def test_jax_used_before_the_package_is_imported_says_what_to_do() -> None:
    script = """
import jax; jax.devices()
import xla_inspect
try:
    xla_inspect.capture(lambda x: x + 1, 1.0, target="h100")
except xla_inspect.InspectError as error:
    print(error)
"""
    # An empty value is a choice: JAX then starts every platform, as it does outside of this project's environment.
    output, _ = run(script, XLA_INSPECT_CACHE="off", JAX_PLATFORMS="").communicate()
    assert output.rstrip().endswith(
        "Import xla_inspect before anything uses JAX, or set JAX_PLATFORMS=cpu before Python starts"
    )


def test_the_readers_own_settings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "tpu,cpu")
    monkeypatch.setenv("TPU_LOG_DIR", "mine")
    environment.prepare()
    assert (os.environ["JAX_PLATFORMS"], os.environ["TPU_LOG_DIR"]) == ("tpu,cpu", "mine")


def uses_the_environment(node: ast.AST) -> bool:
    """Return whether a part of a program is `environ[...]`, `environ.set...` or `putenv`."""
    place = node.value if isinstance(node, ast.Subscript | ast.Attribute) else None
    is_environment = place is not None and ast.unparse(place).endswith("environ")
    if isinstance(node, ast.Attribute):
        return node.attr == "putenv" or (is_environment and node.attr.startswith("set"))
    return is_environment


def test_one_module_sets_the_environment() -> None:
    # Texts do not count: a reproducer sets the environment of its own process.
    setters = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(map(uses_the_environment, ast.walk(ast.parse(path.read_bytes()))))
    }
    # The probe runs under another release of JAX, without this package.
    assert setters == {"targets/environment.py", "releases/release_probe/__main__.py"}


@pytest.mark.parametrize(
    "first", ["import xla_inspect, jax", "import jax, xla_inspect", "import jax; jax.jit(abs); import xla_inspect"]
)
def test_jax_starts_with_eight_cpu_devices_whoever_is_imported_first(first: str) -> None:
    script = f"{first}; print(len(jax.devices()), jax.numpy.ones(2).sharding.num_devices)"
    assert run(script, JAX_PLATFORMS="cpu").communicate() == ("8 1\n", "")


@pytest.mark.parametrize(
    "setting", [{"JAX_NUM_CPU_DEVICES": "2"}, {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}]
)
def test_jax_starts_with_as_many_cpu_devices_as_the_reader_says(setting: dict[str, str]) -> None:
    assert run("import xla_inspect, jax; print(len(jax.devices()))", **setting).communicate() == ("2\n", "")


def test_libtpus_logs_are_kept_in_the_cache_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path))
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: True)
    monkeypatch.delenv("TPU_LOG_DIR", raising=False)
    for name, age in (("old", 2 * environment.LOGS_KEPT), ("new", 0)):
        log = tmp_path / "tpu_logs" / name
        log.parent.mkdir(exist_ok=True)
        log.touch()
        os.utime(log, (log.stat().st_mtime - age,) * 2)
    environment.prepare()
    assert os.environ["TPU_LOG_DIR"] == str(tmp_path / "tpu_logs")
    assert [log.name for log in (tmp_path / "tpu_logs").iterdir()] == ["new"]
