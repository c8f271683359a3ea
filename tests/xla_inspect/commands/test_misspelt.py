"""Misspelt command lines, and the first screen."""

from __future__ import annotations

import pytest

from xla_inspect.commands import command_line


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("memroy", "there is no command 'memroy'; did you mean 'memory'?"),
        ("kernls model.py:layer", "there is no command 'kernls'; did you mean 'kernels'?"),
        ("mem model.py:layer", "there is no command 'mem'; did you mean 'memory'?"),
        ("zzz", "'zzz' is no command, and no file or folder here; the commands are summary, "),
        ("model.py layer", "did you mean model.py:layer?"),
        ("model.py:layer memory", "did you mean xla-inspect memory model.py:layer?"),
        ("--target cpu memory model.py:layer", "did you mean xla-inspect memory model.py:layer?"),
        ("memory model.py::layer", "'model.py::layer' is no subject; did you mean model.py:layer?"),
    ],
)
def test_a_misspelt_command_line_is_answered_with_what_was_meant(
    typed: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(typed.split()) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert said in captured.err.splitlines()[0]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("memory m.py:f --taget h100", "xla-inspect memory: there is no option '--taget'; did you mean '--target'?"),
        ("kernels m.py:f --jsn", "xla-inspect kernels: there is no option '--jsn'; did you mean '--json'?"),
        ("check --updat=1", "xla-inspect check: argument --update: ignored explicit argument '1'"),
        ("show m.py:f --stage bufers", "xla-inspect show: argument --stage: there is no 'bufers'; did you mean 'buf"),
        ("doctor now", "xla-inspect doctor: there is no argument 'now'"),
    ],
)
def test_a_misspelt_option_is_answered_with_the_usage_of_its_command(
    typed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command_line.main(typed.split())
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith(said)
    assert second.startswith(f"usage: xla-inspect {typed.partition(' ')[0]} ")


@pytest.mark.parametrize("typed", ["", "help", "-h", "--help"])
def test_the_first_screen_shows_three_examples_and_every_command(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        command_line.main(typed.split())
    lines = capsys.readouterr().out.splitlines()
    examples = lines[lines.index("examples:") + 1 :][:4]
    assert [line.startswith("  xla-inspect ") for line in examples] == [True, True, True, False]
    shown = [line.split()[0] for line in lines if line[:2] == "  " and line[2] != " "]
    assert sorted(set(shown) - {"xla-inspect"}) == sorted(command_line.list_questions())


def test_help_of_a_command_is_that_commands_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        command_line.main(["help", "memory"])
    assert capsys.readouterr().out.startswith("usage: xla-inspect memory ")
