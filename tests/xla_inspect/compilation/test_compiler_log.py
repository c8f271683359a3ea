"""Messages that compilers write to the standard error stream, bypassing Python."""

from __future__ import annotations

import os

import pytest

from programs import reshard
from xla_inspect import capture
from xla_inspect.compilation import compiler_log


def test_messages_are_collected_only_during_the_compilation(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with compiler_log.collect_log() as lines:
        os.write(2, b"one\ntwo\n")
    os.write(2, b"three\n")
    assert (lines, capfd.readouterr().err) == (["one", "two"], "three\n")


def test_the_standard_error_is_given_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"), compiler_log.collect_log():
        os.write(-1, b"inside\n")
    os.write(2, b"outside\n")
    assert capfd.readouterr().err == "outside\n"


def test_a_warning_of_the_partitioner_is_collected() -> None:
    function, example = reshard.PROGRAMS["directly"]
    with compiler_log.collect_log() as lines:
        capture(function, *example, target="cpu:8", mesh=reshard.MESH, specs=(reshard.ROWS,))
    assert len([line for line in lines if "Involuntary full rematerialization" in line]) == 1
