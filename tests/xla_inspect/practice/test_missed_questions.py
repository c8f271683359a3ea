"""Repeated questions use other programs, and their answers are computed from the shown output."""

from __future__ import annotations

import inspect
import re

import pytest

from xla_inspect import basics, hlo_dump, jaxpr_demo, optimization_compare
from xla_inspect.practice import device, missed_questions, models
from xla_inspect.practice.phases import PHASES

ANSWERS = {
    "basics/traces": 3,
    "basics/seen": 12,
    "jaxpr/equations": 9,
    "jaxpr/unrolled": 4,
    "hlo/divides": "yes",
    "optimization/wastes": 0,
    "optimization/decay": 1,
    "transforms/matmuls": 6,
    "transforms/mapped": 5,
}
"""The answers that do not depend on the machine, by the name of the question."""

QUESTIONS = missed_questions.QUESTIONS
COMPILED = [name for name in QUESTIONS if name.startswith(("hlo", "optimization", "transforms/kernels"))]


def ask(name: str, target: str = "cpu") -> missed_questions.Repeat:
    return QUESTIONS[name](device.find_device(target))


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_has_a_program_a_reason_and_a_listing(name: str) -> None:
    answer = ask(name)
    assert answer.question.endswith("?")
    assert answer.because.endswith(".")
    assert answer.listing.strip()
    assert answer.shown.strip()
    assert answer.language in {"pycon", "jaxpr", "hlo"}
    assert answer.choices == (("yes", "no") if isinstance(answer.answer, str) else ())
    if name in ANSWERS:
        assert answer.answer == ANSWERS[name]


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.usefixtures("all_targets")
def test_compiler_decisions_are_counted_for_the_requested_target(name: str) -> None:
    answers = {ask(name, target).shown for target in ("cpu", "h100", "tpu-v5e")}
    assert len(answers) == 3


def test_a_kernel_of_the_tpu_is_not_one_of_the_cpu() -> None:
    assert ask("optimization/gated").answer != ask("optimization/gated", "tpu-v5e").answer


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name.startswith("jaxpr")])
def test_the_counted_equations_are_the_shown_ones(name: str) -> None:
    answer = ask(name)
    assert len(re.findall(r"^ .* = \w", answer.shown.partition("let")[2], re.MULTILINE)) == answer.answer


def test_each_is_a_prediction_of_a_phase_and_its_program_is_not_the_one_predicted() -> None:
    commands = (basics, jaxpr_demo, hlo_dump, optimization_compare)
    source = "".join(inspect.getsource(module) for module in commands)
    for name in QUESTIONS:
        phase, _, prediction = name.partition("/")
        assert phase in PHASES
        assert prediction in models.PREDICTED or f'"{prediction}"' in source
    predicted = {inspect.getsource(function) for function, _ in models.PREDICTED.values()}
    assert predicted.isdisjoint(ask(name).listing for name in QUESTIONS)
