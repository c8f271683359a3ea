"""The stage code says first what the machine code takes and does, as text or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from common import ROOT
from xla_inspect import InspectError
from xla_inspect.answers import describe_json
from xla_inspect.commands import command_line
from xla_inspect.questions.code import MachineCode

if TYPE_CHECKING:
    from pathlib import Path

LAYER = f"{ROOT / 'snippets' / 'programs' / 'layer.py'}:layer"
CODE = ["show", LAYER, "--stage", "code"]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_json_of_the_code_keeps_to_its_schema_and_has_no_listing(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run_here([*CODE, "--target", target, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    Draft202012Validator(describe_json(MachineCode)).validate(record)
    assert record["target"] == target
    kernels = record["kernels"] + [kernel for kernel in record["below"] if kernel["is_kernel"]]
    assert kernels
    assert all(kernel["where"].startswith("layer.py:") for kernel in kernels)


@pytest.mark.usefixtures("all_targets")
def test_one_kernel_alone_is_summed_up_and_listed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "h100", "--kernel", "loop_maximum_fusion"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("layer on NVIDIA H100: 1 kernel. ")
    assert "gemm_fusion" not in output
    assert output.index("regs") < output.index("==== loop_maximum_fusion (llvm)")


@pytest.mark.parametrize(
    ("stage", "option", "message"),
    [
        ("after", "--json", "--json needs --stage code"),
        ("kernels", "--full", "--full needs --stage code"),
        ("after", "--kernel=fusion", "--kernel needs --stage code"),
        ("after", "--reasons", "--reasons needs --stage capture"),
        ("after", "--passes", "--passes needs --stage capture"),
        ("code", "--machine", "--machine needs --stage capture; without it, the stage code is already complete"),
    ],
)
def test_an_option_of_another_stage_is_refused_with_what_it_is_of(
    stage: str, option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run_here(["show", LAYER, "--stage", stage, option]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_all_of_a_tpus_code_is_told_with_the_steps_below_hlo(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "tpu-v5e", "--full"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("layer on TPU v5e: 1 kernel with ")
    assert output.index("Steps that changed fusion") < output.index("post-GVN") < output.index("==== fusion (bundles)")


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        pytest.fail("it compiled, or assembled, again")

    monkeypatch.setattr("xla_inspect.subject.subject.begin_capture", fail)
    monkeypatch.setattr("xla_inspect.commands.show.disassemble", fail)


def save(target: str, saved: Path, *options: str) -> list[str]:
    words = ["show", LAYER, "--target", target, "--stage", "capture", *options, "-o", str(saved)]
    assert command_line.run_here(words) == 0
    return [str(saved), "--target", target]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(("target", "kernel"), [("tpu-v5e", "fusion"), ("h100", "loop_maximum_fusion")])
def test_a_capture_saved_with_both_answers_why_and_shows_its_code_without_a_compile(
    target: str, kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    subject = save(target, tmp_path / "layer.json", "--reasons", "--machine")
    request.getfixturevalue("no_compiler")
    assert command_line.run_here(["show", *subject, "--stage", "code"]) == 0
    printed = capsys.readouterr()
    assert ("==== fusion (bundles)" if target == "tpu-v5e" else "(sass)") in printed.out
    assert "no bundles" not in printed.err
    assert command_line.run_here(["why", *subject, kernel, "--full"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "The compiler gave no reasons" not in output
    assert "\N{LEFT DOUBLE QUOTATION MARK}" in output


@pytest.mark.usefixtures("all_targets")
def test_a_capture_saved_without_says_how_to_save_it_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subject = save("tpu-v5e", tmp_path / "layer.json")
    assert command_line.run_here(["show", *subject, "--stage", "code"]) == 0
    assert "show SUBJECT --stage capture --machine -o FILE.json" in capsys.readouterr().err
    assert command_line.run_here(["why", *subject, "fusion"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "show SUBJECT --stage capture --reasons -o FILE.json" in output
    assert command_line.run_here(["show", *subject, "--stage", "capture", "--machine"]) == 2
    assert "saved without these contents" in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_a_kernel_that_is_not_there_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "h100", "--kernel", "loop_maximum"]) == 2
    assert "the nearest kernels: loop_maximum_fusion" in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_code_for_a_tpu_is_told_kernel_by_kernel_and_then_bundle_by_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here(["show", LAYER, "--target", "tpu-v5e", "--stage", "code"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("fusion ")
    assert "==== fusion (bundles)\n" in printed
    assert " = vmatmul." in printed
    assert "==== module (hlo)\n" in printed


@pytest.mark.usefixtures("all_targets")
def test_where_libtpu_fails_below_hlo_its_words_are_told_and_the_code_is_shown_without(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        message = "the compiler ended its process while it wrote its programs below HLO:\nCheck failed: n < 3"
        raise InspectError(message)

    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.setattr("xla_inspect.compilation.llo_dumps.collect_low_level", fail)
    assert command_line.run_here(["show", LAYER, "--target", "tpu-v5e", "--stage", "code"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("==== module (hlo)\n")
    assert printed.err.endswith(
        "no bundles: the compiler ended its process while it wrote its programs below HLO:\nCheck failed: n < 3\n"
    )


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(
    ("target", "missing", "message"),
    [
        ("cpu", "capstone", "no assembly: capstone not installed"),
        ("h100", "nvidia-cuda-nvdisasm", "no SASS: nvidia-cuda-nvdisasm is not installed"),
        ("mi300x", "llvm-nanobind", "no assembly: llvm-nanobind not installed"),
    ],
)
def test_code_that_cannot_be_disassembled_is_shown_as_far_as_it_can_and_what_is_missing_is_told(
    target: str,
    missing: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("commands.show", "compilation.object_code"):
        monkeypatch.setattr(f"xla_inspect.{module}.find_version", lambda name: None if name == missing else "1")
    assert command_line.run_here(["show", LAYER, "--target", target, "--stage", "code"]) == 0
    printed = capsys.readouterr()
    languages = {
        line.rpartition("(")[2].removesuffix(")") for line in printed.out.splitlines() if line.startswith("==== ")
    }
    assert "llvm-unoptimized" in languages
    assert not languages & {"asm", "sass"}
    assert printed.err.endswith(f"xla-inspect: {message}; run `uv sync`\n")
