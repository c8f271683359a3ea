"""Every dependency is pinned, and the pins resolve on all platforms of the README."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement

from common import ROOT
from maintaining.pin import BUILD_LIST, RUNTIME_LIST, PinError, parse_pins, pin, read_build_pins, read_pins, write_pins

pytestmark = pytest.mark.long("it guards the project's upkeep and no reader")

TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)
PINS = read_pins(PROJECT)
ACCELERATORS = {
    "jax-rocm7-pjrt",
    "llvm-nanobind",
    "jax-cuda13-pjrt",
    "jax-cuda13-plugin",
    "libtpu",
    "nvidia-cuda-crt",
    "nvidia-cuda-nvcc",
    "nvidia-cuda-nvdisasm",
    "nvidia-cuda-runtime",
    "nvidia-nvvm",
}


def compile_pins(platform: str) -> subprocess.CompletedProcess[str]:
    """Resolve the project's requirements for a platform as `uv sync` does, from wheels alone, without installing."""
    command = ["uv", "pip", "compile", "pyproject.toml", "--group=dev", "--group=accelerators", "--python-version=3.12"]
    command += [
        f"--python={sys.executable}",
        f"--python-platform={platform}",
        "--only-binary=:all:",
        "--quiet",
        "--no-annotate",
        "--no-header",
    ]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_every_installed_package_has_the_version_that_is_pinned() -> None:
    installed = {re.sub(r"[-_.]+", "-", package.name).lower(): package.version for package in distributions()}
    del installed["xla-inspect"]
    assert {name: PINS.get(name, "floats") for name in installed} == installed


@pytest.mark.parametrize(
    "platform",
    ["x86_64-manylinux_2_31", "aarch64-manylinux_2_31", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"],
)
def test_a_supported_platform_resolves_to_the_pins_and_to_nothing_else(platform: str) -> None:
    pins = compile_pins(platform)
    assert pins.stderr == ""
    resolved = parse_pins(pins.stdout.splitlines())
    assert {name: PINS.get(name, "floats") for name in resolved} == resolved
    assert resolved["jaxlib"] == "0.12.0.1"
    assert resolved.keys() & ACCELERATORS == (ACCELERATORS if platform.startswith("x86_64-manylinux") else set())


def test_an_intel_mac_does_not_resolve_for_want_of_a_jaxlib_wheel() -> None:
    pins = compile_pins("x86_64-apple-darwin")
    assert pins.returncode == 1
    assert "jaxlib==0.12.0.1 has no wheels with a matching platform tag" in " ".join(pins.stderr.split())


def test_the_accelerators_are_a_group_of_their_own_that_is_on_by_default() -> None:
    assert PROJECT["tool"]["uv"]["default-groups"] == ["dev", "accelerators"]
    assert parse_pins(PROJECT["dependency-groups"]["accelerators"]).keys() <= ACCELERATORS


def list_asked() -> list[str]:
    """Return the requirements of the wheel and of its extras, each with its range of versions."""
    project = PROJECT["project"]
    own = [
        *project["dependencies"],
        *(requirement_text for extra in project["optional-dependencies"].values() for requirement_text in extra),
    ]
    # Two extras may have the same requirement.
    others = dict.fromkeys(own)
    return [
        requirement_text for requirement_text in others if not requirement_text.startswith(("xla-inspect[", "jax["))
    ]


@pytest.mark.parametrize("requirement_text", list_asked())
def test_requirements_of_the_wheel_are_ranges_that_contain_the_pin(requirement_text: str) -> None:
    requirement = Requirement(requirement_text)
    assert sorted(specifier.operator for specifier in requirement.specifier) == ["<", ">="]
    assert requirement.specifier.contains(PINS[requirement.name])


def test_build_requirements_are_pinned() -> None:
    assert read_build_pins(PROJECT).keys() > {"hatchling", "packaging", "pathspec", "pluggy"}


@pytest.mark.parametrize("requirement", ["numpy", "numpy>=2", "numpy==2.*", "numpy @ file:numpy"])
def test_a_requirement_without_one_version_is_refused(requirement: str) -> None:
    with pytest.raises(PinError, match="is not pinned"):
        parse_pins([requirement])


def test_two_versions_of_one_package_are_refused() -> None:
    with pytest.raises(PinError, match="two versions, 1 and 2"):
        parse_pins(["some_package==1; sys_platform == 'linux'", "Some.Package==2; sys_platform == 'win32'"])


def test_pinning_again_changes_nothing() -> None:
    assert pin(TEXT) == TEXT


def test_pinning_restores_what_was_dropped_and_drops_what_nothing_needs() -> None:
    pins = parse_pins(PROJECT["tool"]["uv"][RUNTIME_LIST])
    del pins["click"]
    pins["left-pad"] = "1.0"
    restored = tomllib.loads(pin(write_pins(TEXT, RUNTIME_LIST, pins)))
    assert restored["tool"]["uv"][RUNTIME_LIST] == PROJECT["tool"]["uv"][RUNTIME_LIST]
    assert restored["tool"]["uv"][BUILD_LIST] == PROJECT["tool"]["uv"][BUILD_LIST]


def test_a_missing_list_is_reported() -> None:
    with pytest.raises(PinError, match=r"holds 0 lists `no-such = \[`"):
        write_pins(TEXT, "no-such", {})


def test_the_interpreter_is_the_one_that_the_project_names() -> None:
    version = (ROOT / ".python-version").read_text(encoding="utf-8").strip()
    assert f"{sys.version_info.major}.{sys.version_info.minor}" == version
