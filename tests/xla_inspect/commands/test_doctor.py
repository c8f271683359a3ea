"""`xla-inspect doctor`: trial compilations, conflicting packages, and the commands that fix them."""

from __future__ import annotations

import io
import json
from argparse import Namespace
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from xla_inspect.answers import describe_json
from xla_inspect.commands import doctor
from xla_inspect.commands.diagnosis import Diagnosis
from xla_inspect.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("bounds", "version", "expected"),
    [
        (">=0.10.2,<0.13", "0.10.2", True),
        (">=0.10.2,<0.13", "0.12.0.1", True),
        (">=0.10.2,<0.13", "0.13", False),
        (">=0.10.2,<0.13", "0.9.9", False),
        ("<=0.12.0,>=0.11", "0.12.0.1", False),
        ("==1.2", "1.2.0", True),
        ("!=1.2", "1.2.0", False),
        ("~=1.4.2", "1.4.9", True),
        ("~=1.4.2", "1.5", False),
        ("", "7", True),
    ],
)
def test_versions_are_compared_with_bounds_numerically(bounds: str, version: str, expected: bool) -> None:  # noqa: FBT001
    assert doctor.admits(bounds, version) is expected


@pytest.mark.parametrize(
    ("environment", "messages"),
    [
        ({}, []),
        ({"JAX_PLATFORMS": "cpu,cuda", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}, []),
        ({"JAX_PLATFORMS": "cuda"}, ["JAX_PLATFORMS=cuda excludes the CPU"]),
        ({"XLA_FLAGS": "flags.txt"}, ["XLA_FLAGS names the file flags.txt"]),
        ({"XLA_FLAGS": "--xla_dump_to=x"}, ["XLA_FLAGS has --xla_dump_to"]),
    ],
)
def test_settings_that_disable_compilers_are_listed(environment: dict[str, str], messages: list[str]) -> None:
    troubles = [trouble.what for trouble in doctor.find_settings(environment)]
    assert [what[: len(start)] for what, start in zip(troubles, messages, strict=True)] == messages


def test_mismatched_package_versions_are_listed() -> None:
    versions = {"jax": "0.12.0.1", "jaxlib": "0.10.2", "jax-cuda13-plugin": "0.11.2", "jax-rocm7-pjrt": "0.12.0"}
    messages = [trouble.what for trouble in doctor.find_mismatches(versions)]
    assert any(what.startswith("jax 0.12") and "jaxlib" in what for what in messages)
    assert "jax-cuda13-plugin 0.11.2 and jaxlib 0.10.2 are different releases" in messages
    assert "jax-rocm7-pjrt 0.12.0 and jaxlib 0.10.2 are different releases" in messages


def test_this_environment_is_consistent() -> None:
    versions = {name: version for name in doctor.CHECKED if (version := doctor.find_version(name))}
    assert list(doctor.find_mismatches(versions)) == []


@pytest.fixture
def _only_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(doctor, "TARGETS", ("cpu",))
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    return


@pytest.mark.usefixtures("_only_cpu")
def test_it_compiles_to_see_and_writes_json_that_keeps_to_its_schema() -> None:
    out = io.StringIO()
    assert doctor.run_command(Namespace(json=True, quick=False), out) == 0
    record = json.loads(out.getvalue())
    Draft202012Validator(describe_json(Diagnosis)).validate(record)
    assert [check["tried"] for check in record["targets"]] == ["cpu"]
    assert record["targets"][0]["seconds"] > 0


@pytest.mark.usefixtures("_only_cpu")
def test_a_compiler_that_fails_is_a_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        message = "no such thing"
        raise RuntimeError(message)

    monkeypatch.setattr(doctor, "_compile", fail)
    out = io.StringIO()
    assert doctor.run_command(Namespace(json=False, quick=False), out) == 1
    assert "A small program did not compile for cpu (RuntimeError: no such thing)" in " ".join(out.getvalue().split())


def test_the_quick_check_compiles_nothing() -> None:
    out = io.StringIO()
    doctor.run_command(Namespace(json=True, quick=True), out)
    record = json.loads(out.getvalue())
    assert {check["tried"] for check in record["targets"]} == {""}
    assert sum(len(check["targets"]) for check in record["targets"]) == len(TARGETS)
