"""Phase 4: predictions."""

from __future__ import annotations

import re

import pytest

from xla_inspect import optimization_compare


@pytest.mark.parametrize(("guesses", "right"), [("1,2,3", 3), ("1, 1, 1", 1), ("0,0,0", 0)])
def test_guesses_are_compared_with_the_compiler(guesses: str, right: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert optimization_compare.main(["--predict", guesses]) == 0
    out = capsys.readouterr().out
    assert f"{right} of 3 predictions were right." in out
    rows = re.findall(r"^    (decay|center|gated) +(\d+) +(\d+)  ", out, re.MULTILINE)
    expected = [part.strip() for part in guesses.split(",")]
    assert rows == [
        (name, guess, count)
        for (name, count), guess in zip((("decay", "1"), ("center", "2"), ("gated", "3")), expected, strict=True)
    ]


def test_the_answers_come_after_the_last_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimization_compare.main([]) == 0
    out = capsys.readouterr().out
    assert out.index("def gated") < out.index("The answers for CPU:")
    assert "predictions were right" not in out


@pytest.mark.parametrize("guesses", ["1,2", "1,2,3,4", "a,b,c", "1,-1,1", ""])
def test_an_invalid_guess_is_rejected(guesses: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert optimization_compare.main(["--predict", guesses]) == 2
    assert f"pass three whole numbers separated by commas, such as 1,1,1, not {guesses!r}" in capsys.readouterr().err


def test_each_wasted_operation_is_removed_by_jax_or_a_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimization_compare.main([]) == 0
    table = capsys.readouterr().out.split("These passes removed the wasted work")[1].split("4.5")[0]
    removers = re.findall("conversion of StableHLO to HLO|algsimp, in|cse, in", table)
    assert len(removers) == len(optimization_compare.WASTE)
    assert "no pass" not in table
