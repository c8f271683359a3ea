"""Misspelled command lines, and the overview of the commands."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, cast

import pytest

from xla_inspect.commands import command_line, command_list, question

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("memroy", "there is no command 'memroy'; did you mean 'memory'?"),
        ("kernls model.py:layer", "there is no command 'kernls'; did you mean 'kernels'?"),
        ("mem model.py:layer", "there is no command 'mem'; did you mean 'memory'?"),
        ("zzz", "'zzz' is neither a command nor a file or folder; the commands are summary, "),
        ("model.py layer", "did you mean model.py:layer?"),
        ("model.py:layer memory", "did you mean xla-inspect memory model.py:layer?"),
        ("--target cpu memory model.py:layer", "did you mean xla-inspect memory model.py:layer?"),
        ("memory model.py::layer", "'model.py::layer' is no subject; did you mean model.py:layer?"),
    ],
)
def test_a_misspelled_command_line_gets_a_suggestion(
    typed: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(typed.split()) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert message in captured.err.splitlines()[0]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("memory m.py:f --taget h100", "xla-inspect memory: there is no option '--taget'; did you mean '--target'?"),
        ("kernels m.py:f --jsn", "xla-inspect kernels: there is no option '--jsn'; did you mean '--json'?"),
        ("memory m.py:f --shapes f32[4]", "xla-inspect memory: there is no option '--shapes'; did you mean '--args'?"),
        ("memory m.py:f --taget=h100", "xla-inspect memory: there is no option '--taget'; did you mean '--target'?"),
        ("check --updat=1", "xla-inspect check: argument --update: ignored explicit argument '1'"),
        ("show m.py:f --stage bufers", "xla-inspect show: argument --stage: there is no 'bufers'; did you mean 'buf"),
        ("doctor now", "xla-inspect doctor: there is no argument 'now'"),
    ],
)
def test_a_misspelled_option_gets_the_usage_of_its_command(
    typed: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command_line.main(typed.split())
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith(message)
    assert second.startswith(f"usage: xla-inspect {typed.partition(' ')[0]} ")


@pytest.mark.parametrize("option", ["--topology", "--dtype", "--output", "--sharding", "--device", "--none"])
def test_an_option_that_is_like_no_other_gets_no_suggestion(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["memory", "m.py:f", option, "2x2"])
    assert capsys.readouterr().err.splitlines()[0] == f"xla-inspect memory: there is no option '{option}'"


@pytest.mark.parametrize("typed", ["", "help", "-h", "--help"])
def test_the_first_screen_shows_three_examples_and_every_command(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        command_line.main(typed.split())
    lines = capsys.readouterr().out.splitlines()
    examples = lines[lines.index("examples:") + 1 :][:4]
    assert [line.startswith("  xla-inspect ") for line in examples] == [True, True, True, False]
    options = [line.split()[0] for line in lines if line[:2] == "  " and line[2] != " "]
    assert sorted(set(options) - {"xla-inspect"}) == sorted(command_list.list_questions())


def test_the_help_of_a_command_is_specific_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        command_line.main(["help", "memory"])
    assert capsys.readouterr().out.startswith("usage: xla-inspect memory ")


def test_an_error_of_the_tool_is_not_blamed_on_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("missing")  # noqa: EM101

    file = tmp_path / "model.py"
    file.write_text("EXAMPLE = (1.0,)\ndef f(x):\n    return x\n", encoding="utf-8")
    # As one of the tool's own functions.
    monkeypatch.setattr(question, "choose_targets", _place_in_package(cast("FunctionType", fail)))
    assert command_line.run_here(["memory", f"{file}:f", "--target", "cpu"]) == 2
    *_, first, second = capsys.readouterr().err.splitlines()
    assert first == f"xla-inspect: KeyError: 'missing', while inspecting {file}"
    assert second == "this is an error in xla-inspect, not in your code; please report it with the output of --debug"


def _place_in_package(function: FunctionType) -> FunctionType:
    """Return a function with the same code that seems to be defined in the package."""
    return FunctionType(function.__code__.replace(co_filename=question.__file__), {"__builtins__": __builtins__})
