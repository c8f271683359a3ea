"""Each starting point compiles on three targets, and an edit that answers its question shows where the page says."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from xla_inspect import capture
from xla_inspect.analysis import list_collectives
from xla_inspect.play.starting_points import list_starters
from xla_inspect.practice.marking.puzzles import BESIDE, KERNELS, MOVED, WORK

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.captured import Capture

ANSWERS = tomllib.loads((Path(__file__).parent / "answers.toml").read_text(encoding="utf-8"))
STARTERS = {starter["name"]: starter for starter in list_starters()}
TARGETS = ("cpu", "h100", "tpu-v5e")


def count_sent(found: Capture) -> int:
    return sum(int(each.sent_bytes) for each in list_collectives(found.module))


MEASURES: dict[str, Callable[[Capture], int]] = {
    "softmax_rows": KERNELS.take,
    "recurrence_history": MOVED.take,
    "normed_rows": MOVED.take,
    "narrow_layers": MOVED.take,
    "one_row": MOVED.take,
    "attention_scores": BESIDE.take,
    "kept_layers": BESIDE.take,
    "looked_up_rows": WORK.take,
    "same_product": WORK.take,
    "sharded_layers": count_sent,
}
"""What each question is about; less is an answer."""


def compile_code(starter: dict[str, Any], code: str, target: str, donate: str = "") -> Capture:
    module: dict[str, Any] = {"__name__": starter["name"]}
    exec(compile(code, f"{starter['name']}.py", "exec"), module)  # noqa: S102 - it is what the page does with it
    settings: dict[str, Any] = {"donate_argnames": donate} if donate else {}
    if mesh := starter["options"].get("mesh"):
        axis, _, size = mesh.partition("=")
        settings["mesh"] = {axis: int(size)}
        target = {"tpu-v5e": "tpu-v5e:2x4"}.get(target, f"{target}:{size}")
    return capture(module[starter["function"]], *module["EXAMPLE"], target=target, **settings)


def answer(starter: dict[str, Any]) -> str:
    """Return the code with the answer in the place of what the function does."""
    tree = ast.parse(starter["code"])
    [function] = [each for each in tree.body if getattr(each, "name", "") == starter["function"]]
    assert isinstance(function, ast.FunctionDef)
    lines = starter["code"].splitlines()
    return "\n".join([*lines[: function.body[0].end_lineno], ANSWERS[starter["name"]]["body"]])


def test_there_are_ten_each_with_a_question_and_an_answer() -> None:
    assert len(STARTERS) == 10
    assert list(STARTERS) == list(ANSWERS) == list(MEASURES)
    assert [name for name, each in STARTERS.items() if "?" not in each["question"]] == []


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", STARTERS)
def test_it_compiles(name: str, target: str) -> None:
    assert compile_code(STARTERS[name], STARTERS[name]["code"], target).module.entry


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("name", STARTERS)
def test_the_answer_takes_less_of_what_the_question_is_about(name: str) -> None:
    starter, measure = STARTERS[name], MEASURES[name]
    before = measure(compile_code(starter, starter["code"], starter["target"]))
    after = measure(compile_code(starter, answer(starter), starter["target"], ANSWERS[name].get("donate", "")))
    assert after < before, f"{before} before, {after} after"


@pytest.mark.usefixtures("all_targets")
def test_the_first_is_three_kernels_on_the_h100_as_it_says_and_one_after_the_answer() -> None:
    starter = STARTERS["softmax_rows"]
    counted = [KERNELS.take(compile_code(starter, code, "h100")) for code in (starter["code"], answer(starter))]
    assert counted == [3, 1]
