"""Commands are printed for copying: on one line, or folded for the shell."""

from __future__ import annotations

import shlex

import pytest

from xla_inspect.answers.answer_text import fold_command

LONG = (
    "xla-inspect why model.py:norm --args 'f32[4096,1024], f32[1024], f32[1024]' --target cpu --apart mean,var --full"
)


def test_a_command_that_fits_stays_in_a_line() -> None:
    assert fold_command("xla-inspect why model.py:norm 9", 40) == ["xla-inspect why model.py:norm 9"]


def test_a_long_command_is_folded_with_options_next_to_their_values() -> None:
    lines = fold_command(LONG, 78)
    assert len(lines) > 1
    assert max(map(len, lines)) <= 78
    assert all(line.endswith(" \\") for line in lines[:-1])
    # A shell takes a backslash at the end of a line, with that end, for nothing.
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(LONG)
    assert any("--apart mean,var" in line for line in lines)


def test_a_folded_command_keeps_quotes_inside_of_a_word() -> None:
    words = ["xla-inspect", "numbers", "--in-spec", "x=P('data', None)", "model.py:train", "--mesh", "data=4", "a" * 40]
    lines = fold_command(shlex.join(words), 60)
    assert len(lines) > 1
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == words
    assert fold_command("say it\\'s\\ so 'and' on", 16) == ["say it\\'s\\ so \\", "  'and' on"]


@pytest.mark.parametrize("command", ["xla-inspect why 'open", "x" * 90])
def test_a_command_that_cannot_be_folded_stays_whole(command: str) -> None:
    assert fold_command(command, 78) == [command]
