"""Phase 1: the comparison with PyTorch is correct."""

from __future__ import annotations

import re

import pytest

from xla_inspect import basics
from xla_inspect.practice import command, notebook


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, str]]:
    listed: list[dict[str, str]] = notebook.read_pairs()["pair"]
    return listed


def test_arrays_are_immutable_and_branches_on_data_are_rejected(pairs: list[dict[str, str]]) -> None:
    unchanged = basics.open_prompt().type(pairs[0]["jax"])
    assert unchanged.endswith("Array([7., 0., 0.], dtype=float32)\n>>> x\nArray([0., 0., 0.], dtype=float32)")
    branched = basics.open_prompt().type(pairs[2]["jax"])
    assert "TracerBoolConversionError: " in branched
    assert branched.endswith("Array([3., 3., 3.], dtype=float32)")


def test_jit_runs_python_once_for_each_shape() -> None:
    assert basics.open_prompt().type(basics.JIT).count("\ntracing f for JitTracer") == 2


def test_a_step_of_training_lowers_the_loss() -> None:
    prompt = basics.open_prompt()
    prompt.type(basics.MODEL)
    output = prompt.type(basics.STEP)
    before, after = map(float, re.findall(r"^Array\(([\d.]+), dtype=float32\)$", output, re.MULTILINE))
    assert 0 < after < before


def test_an_interrupt_while_a_line_runs_ends_the_phase(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basics, "JIT", "raise KeyboardInterrupt")
    assert basics.main([]) == command.INTERRUPTED
    out, err = capsys.readouterr()
    assert ("1.2 jit" in out, "1.3 grad" in out) == (True, False)
    assert err.endswith("xla_inspect.basics: interrupted\n")
