"""The changes that `memory --try` and `why --try` compile, with the estimated time of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pytest
from scanned import EXAMPLE, scanned

from programs import layernorm
from xla_inspect import capture, why
from xla_inspect.analysis.estimates import time_program
from xla_inspect.answers import say_time, show_time
from xla_inspect.commands import main

if TYPE_CHECKING:
    from xla_inspect.analysis.estimates import Estimate

FILE = Path(__file__).parents[2] / "scanned.py"

pytestmark = pytest.mark.usefixtures("all_targets")


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, f"{FILE}:scanned"]) == 0
    return capsys.readouterr().out


def find_time(*donated: int) -> Estimate:
    step = time_program(capture(jax.jit(scanned, donate_argnums=donated), *EXAMPLE, target="tpu-v5e"))
    assert step is not None
    return step.seconds


def test_each_tried_change_of_memory_has_the_time_of_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["memory", "--try", "donate", "--target", "tpu-v5e"]
    text = " ".join(ask(capsys, *words).split())
    answer = json.loads(ask(capsys, *words, "--json"))
    assert [trial["fits"] for trial in answer["trials"]]
    assert f"yes {show_time(find_time(0))} donate argument 0" in text
    assert f"Without a change, a step takes {say_time(find_time())}." in text
    assert text.count("not measurements") == 1


def test_a_cpu_has_no_column_of_times(capsys: pytest.CaptureFixture[str]) -> None:
    text = ask(capsys, "memory", "--try", "donate", "--target", "cpu")
    assert "needs" in text
    assert "time" not in text


def test_each_tried_change_of_a_decision_has_the_time_of_its_program() -> None:
    answer = why(layernorm.layernorm, *layernorm.EXAMPLE, apart=("mean", "variance"), target="tpu-v5e", try_="target")
    times = {trial.change: trial.time for trial in answer.trials}
    step = time_program(capture(layernorm.layernorm, *layernorm.EXAMPLE, target="h100"))
    assert step is not None
    assert times == {"for cpu": None, "for h100": step.seconds}
    text = " ".join(str(answer).split())
    assert f"removes {show_time(step.seconds)} for h100" in text
    assert f"Without a change, a step takes {say_time(answer.time)}." in text  # type: ignore[arg-type]  # a TPU has one
    assert text.count("own estimates are missing") == 1
