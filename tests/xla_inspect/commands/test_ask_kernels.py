"""`xla-inspect kernels`, with and without a profile."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import profiles
import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.commands import command_line
from xla_inspect.errors import TargetUnavailableError

TARGET = "h100"
SUBJECT = f"{Path(__file__).resolve().parents[1] / 'scanned.py'}:scanned"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path_factory.getbasetemp() / "kernels_cache"))


def test_a_launch_name_may_follow_the_subject_or_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    program = capture(scanned, *EXAMPLE, target="h100", passes=False)
    name = next(thunk.name for thunk in program.thunks if thunk.symbol.startswith("sort"))
    arguments = ["kernels", SUBJECT, "--target", "h100"]
    assert command_line.run_here([*arguments[:2], name, *arguments[2:]]) == 0
    first = capsys.readouterr().out
    assert command_line.run_here([*arguments, "--kernel", name]) == 0
    assert capsys.readouterr().out == first
    assert first.startswith(f"{name} is a ")
    assert " per thread, 0 B spilled" in first


def test_the_command_that_shows_the_code_of_a_kernel_shows_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    program = capture(scanned, *EXAMPLE, target="h100", passes=False)
    thunk = next(thunk for thunk in program.thunks if thunk.symbol.startswith("sort"))
    assert command_line.run_here(["kernels", SUBJECT, thunk.name, "--target", "h100"]) == 0
    # A command that is longer than a line goes on behind a backslash.
    output = capsys.readouterr().out.replace(" \\\n", " ")
    (hint,) = (shlex.split(line) for line in output.splitlines() if line.startswith("  xla-inspect show"))
    assert command_line.run_here(hint[1:]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("==== ")]
    assert f"==== {thunk.symbol} (ptx)" in lines
    assert all(line.startswith(f"==== {thunk.symbol} (") for line in lines)


@pytest.mark.usefixtures("all_targets")
def test_the_reason_for_unknown_registers_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        reason = "nvidia-cuda-nvcc is not installed; run `pip install`"
        raise TargetUnavailableError(TARGET, reason)

    monkeypatch.setattr("xla_inspect.compilation.registers.count_registers", refuse)
    assert command_line.run_here(["kernels", SUBJECT, "--target", "h100"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "registers is not known on this machine: nvidia-cuda-nvcc is not installed; run `pip install`." in output


def test_a_launch_name_of_one_target_is_shown_and_an_unknown_name_is_rejected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = capture(scanned, *EXAMPLE, target="h100", passes=False)
    name = next(thunk.name for thunk in program.thunks if thunk.symbol.startswith("triton"))
    both = ["--target", "h100", "--target", "cpu"]
    assert command_line.run_here(["kernels", SUBJECT, name, *both]) == 0
    output = capsys.readouterr()
    assert output.out.startswith(f"{name} is a ")
    assert f"xla-inspect: cpu: there is no launch '{name}'" in output.err
    assert command_line.run_here(["kernels", SUBJECT, "nothing_like_it", *both]) == 2
    assert "there is no launch 'nothing_like_it'" in capsys.readouterr().err


def test_a_profile_is_matched_with_the_target_of_its_kind_and_labelled_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = capture(scanned, *EXAMPLE, target="h100", passes=False)
    trace = profiles.write_chrome(tmp_path / "trace.json.gz", profiles.profile_gpu(program))
    out = tmp_path / "labelled.json"
    arguments = ["kernels", SUBJECT, "--trace", str(trace), "--label", str(out), "--json"]
    assert command_line.run_here(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["target"], answer["holds"]) == ("h100", True)
    records = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    labelled = [record for record in records if "python" in record.get("args", {})]
    assert len(labelled) == answer["labelled_events"]
    assert all("scanned.py:" in record["name"] for record in labelled)
    before = out.read_bytes()
    assert command_line.run_here(arguments) == 2
    assert "already exists" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert command_line.run_here([*arguments, "--force"]) == 0


def test_a_profile_of_another_device_is_not_labelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = capture(scanned, *EXAMPLE, target="h100", passes=False)
    trace = profiles.write_chrome(tmp_path / "trace.json", profiles.profile_gpu(program))
    arguments = ["kernels", SUBJECT, "--trace", str(trace), "--target", "cpu"]
    assert command_line.run_here(arguments) == 1
    assert capsys.readouterr().out.startswith("trace.json comes from a GPU")
    assert command_line.run_here([*arguments, "--label", str(tmp_path / "out.json")]) == 2
    assert "pass the target that it was recorded on" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_a_label_without_a_profile_is_rejected_before_compilation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("no profile", encoding="utf-8")
    for arguments, message in (
        (["--label", str(tmp_path / "out.json")], "pass the profile with --trace FILE"),
        (["--trace", str(wrong)], "is no profile that is known here"),
        (["--trace", str(tmp_path / "none")], "No such file"),
    ):
        assert command_line.run_here(["kernels", SUBJECT, *arguments]) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert "compiling" not in output.err
        assert not output.out
