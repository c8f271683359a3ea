"""The stage code says first what the machine code takes and does, as text or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from common import ROOT
from xla_inspect.answers import MachineCode, describe_json
from xla_inspect.commands import command_line

if TYPE_CHECKING:
    from pathlib import Path

LAYER = f"{ROOT / 'snippets' / 'programs' / 'layer.py'}:layer"
CODE = ["show", LAYER, "--stage", "code"]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100"])
def test_json_of_the_code_keeps_to_its_schema_and_has_no_listing(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run_here([*CODE, "--target", target, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    Draft202012Validator(describe_json(MachineCode)).validate(record)
    assert record["target"] == target
    assert all(kernel["where"].startswith("layer.py:") for kernel in record["kernels"])


@pytest.mark.usefixtures("all_targets")
def test_one_kernel_alone_is_summed_up_and_listed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "h100", "--kernel", "loop_maximum_fusion"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("layer on NVIDIA H100: 1 kernel; ")
    assert "gemm_fusion" not in told
    assert told.index("regs") < told.index("==== loop_maximum_fusion (llvm)")


def test_a_capture_that_was_saved_is_summed_up_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "layer.json"
    assert command_line.run_here(["show", LAYER, "--stage", "capture", "-o", str(saved)]) == 0
    assert command_line.run_here(["show", str(saved), "--stage", "code"]) == 0
    assert capsys.readouterr().out.startswith("layer on CPU: 1 kernel: 1 on vectors of 256 bits")


@pytest.mark.parametrize("stage", ["after", "kernels"])
def test_json_of_another_stage_is_refused_with_what_there_is(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here(["show", LAYER, "--stage", stage, "--json"]) == 2
    assert "--json is of the stage code of a CPU or GPU" in capsys.readouterr().err


@pytest.mark.usefixtures("all_targets")
def test_a_kernel_that_is_not_there_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run_here([*CODE, "--target", "h100", "--kernel", "loop_maximum"]) == 2
    assert "there is that of loop_maximum_fusion" in capsys.readouterr().err
