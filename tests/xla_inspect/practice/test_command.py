"""Exit statuses and help texts of commands."""

from __future__ import annotations

import importlib.metadata
import re
from typing import TYPE_CHECKING

import pytest

from xla_inspect.errors import InspectError
from xla_inspect.practice import command
from xla_inspect.practice.command import DONE, FAILED, USAGE
from xla_inspect.terminal import PIPE_CLOSED

if TYPE_CHECKING:
    import argparse

    from xla_inspect.terminal import Paper


def parser() -> argparse.ArgumentParser:
    return command.build_parser("none", "Shows nothing.")


def ends(error: BaseException | None, status: int = DONE) -> int:
    def show(_: Paper, __: argparse.Namespace) -> int:
        if error:
            raise error
        return status

    return command.show_and_exit(parser(), show, [])


def test_a_command_has_the_exit_status_of_its_demonstration() -> None:
    assert ends(None) == DONE
    assert ends(None, 3) == 3


def test_an_error_is_one_line_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(InspectError("what was wrong")) == FAILED
    assert capsys.readouterr() == ("", "xla_inspect.none: what was wrong\n")
    assert ends(OSError(28, "No space left on device")) == FAILED
    assert capsys.readouterr().err == "xla_inspect.none: the output: No space left on device\n"
    assert ends(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "xla_inspect.none: interrupted\n"


def test_a_closed_pipe_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(BrokenPipeError()) == PIPE_CLOSED
    assert capsys.readouterr().err == ""


def test_an_internal_error_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        ends(ZeroDivisionError())


def test_wrong_arguments_return_a_status_and_end_no_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.show_and_exit(parser(), lambda *_: DONE, ["--no-such"]) == USAGE
    assert "unrecognized arguments: --no-such" in capsys.readouterr().err
    assert command.show_and_exit(parser(), lambda *_: DONE, ["--help"]) == DONE


def test_markdown_reads_well_in_a_terminal() -> None:
    text = command.plain("Say `this`, see [there](https://a.b/c):\n\n```sh\nrun `it`\n```\nAnd [on](x).")
    assert text == "Say this, see there (https://a.b/c):\n\n    run `it`\nAnd on (x)."


def test_each_shell_gets_the_same_flags_and_the_way_to_unset_them() -> None:
    text = command.read_text("flags")
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    assert [language for language, _ in blocks] == ["sh", "powershell", "bat", "python"]
    assert {flags for _, block in blocks for flags in re.findall(r"--xla_dump_to[^'\"\n]*", block)} == {
        "--xla_dump_to=dump --xla_dump_hlo_pass_re=.*"
    }
    by_shell = dict(blocks)
    assert by_shell["bat"].startswith("set XLA_FLAGS=--xla_dump_to")
    assert by_shell["bat"].endswith("set XLA_FLAGS=\n")
    assert by_shell["powershell"].endswith("Remove-Item Env:XLA_FLAGS\n")
    assert by_shell["python"].index("environ") < by_shell["python"].index("import jax")


def test_a_gpu_gets_the_libraries_of_the_installed_jax() -> None:
    assert f"jax[cuda13]=={importlib.metadata.version('jax')}'" in command.read_text("gpu")
