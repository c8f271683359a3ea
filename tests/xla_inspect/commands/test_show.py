"""`xla-inspect show --stage code`: a summary of resources and instructions, as text and JSON."""

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
        ("after", "--reasons", "--reasons needs --stage capture"),
        ("code", "--machine", "--machine needs --stage capture; without it, the stage code is already complete"),
    ],
)
def test_an_option_of_another_stage_is_rejected_with_its_stage(
    stage: str, option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run_here(["show", LAYER, "--stage", stage, option]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_the_full_code_of_a_tpu_includes_the_low_level_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "tpu-v5e", "--full"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("layer on TPU v5e: 1 kernel with ")
    assert output.index("Steps that changed fusion") < output.index("post-GVN") < output.index("==== fusion (bundles)")


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        pytest.fail("it compiled, or assembled, again")

    monkeypatch.setattr("xla_inspect.subject.subject.begin", fail)
    monkeypatch.setattr("xla_inspect.commands.show.disassemble", fail)


def save(target: str, saved: Path, *options: str) -> list[str]:
    arguments = ["show", LAYER, "--target", target, "--stage", "capture", *options, "-o", str(saved)]
    assert command_line.run_here(arguments) == 0
    return [str(saved), "--target", target]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(("target", "saved"), [("tpu-v5e", "fusion"), ("h100", "loop_maximum_fusion")])
def test_a_capture_saved_with_reasons_and_code_needs_no_compilation(
    target: str, saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    saved_path = save(target, tmp_path / "layer.json", "--reasons", "--machine")
    request.getfixturevalue("no_compiler")
    assert command_line.run_here(["show", *saved_path, "--stage", "code"]) == 0
    output = capsys.readouterr()
    assert ("==== fusion (bundles)" if target == "tpu-v5e" else "(sass)") in output.out
    assert "no bundles" not in output.err
    assert command_line.run_here(["why", *saved_path, saved, "--full"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The compiler gave no reasons" not in text
    assert "\N{LEFT DOUBLE QUOTATION MARK}" in text


@pytest.mark.usefixtures("all_targets")
def test_a_capture_saved_without_code_explains_how_to_save_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = save("tpu-v5e", tmp_path / "layer.json")
    assert command_line.run_here(["show", *saved, "--stage", "code"]) == 0
    assert "show SUBJECT --stage capture --machine -o FILE.json" in capsys.readouterr().err
    assert command_line.run_here(["why", *saved, "fusion"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "show SUBJECT --stage capture --reasons -o FILE.json" in text
    assert command_line.run_here(["show", *saved, "--stage", "capture", "--machine"]) == 2
    assert "saved without that" in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_a_kernel_that_is_not_there_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "h100", "--kernel", "loop_maximum"]) == 2
    assert "the nearest kernels: loop_maximum_fusion" in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_tpu_code_is_listed_by_kernel_and_then_by_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here(["show", LAYER, "--target", "tpu-v5e", "--stage", "code"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("fusion ")
    assert "==== fusion (bundles)\n" in output
    assert " = vmatmul." in output
    assert "==== module (hlo)\n" in output


@pytest.mark.usefixtures("all_targets")
def test_a_low_level_failure_of_libtpu_is_reported_with_the_remaining_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        message = "the compiler ended its process while it wrote its programs below HLO:\nCheck failed: n < 3"
        raise InspectError(message)

    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.setattr("xla_inspect.compilation.llo_dumps.collect_low_level", fail)
    assert command_line.run_here(["show", LAYER, "--target", "tpu-v5e", "--stage", "code"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("==== module (hlo)\n")
    assert output.err.endswith(
        "no bundles: the compiler ended its process while it wrote its programs below HLO:\nCheck failed: n < 3\n"
    )


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize(
    ("target", "missing", "message"),
    [
        ("cpu", "capstone", "no assembly: capstone not installed"),
        ("h100", "nvidia-cuda-nvdisasm", "no SASS: nvidia-cuda-nvdisasm is not installed"),
    ],
)
def test_partly_disassembled_code_is_shown_with_the_missing_parts(
    target: str,
    missing: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("commands.show", "compilation.object_code"):
        monkeypatch.setattr(f"xla_inspect.{module}.find_version", lambda name: None if name == missing else "1")
    assert command_line.run_here(["show", LAYER, "--target", target, "--stage", "code"]) == 0
    output = capsys.readouterr()
    stages = {line.rpartition("(")[2].removesuffix(")") for line in output.out.splitlines() if line.startswith("==== ")}
    assert (stages & {"asm", "sass", "llvm"}) == {"llvm"}
    assert output.err.endswith(f"xla-inspect: {message}; run `uv sync`\n")
