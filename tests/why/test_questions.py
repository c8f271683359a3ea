"""The trial questions are valid: each program has the effect in question, and each change removes it."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from question_trial import KINDS, Pattern, Question, read_questions

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

QUESTIONS = {question.name: question for question in read_questions()}
CHANGES = {
    f"{name}, {' '.join(map(str, change.values()))}": (question, change)
    for name, question in QUESTIONS.items()
    for change in question.removed_by
}
SEED, EACH = 17, 5

each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


@cache
def capture(name: str) -> Capture:
    return QUESTIONS[name].capture()


@each_question
@pytest.mark.usefixtures("all_targets")
def test_the_effect_in_question_exists(question: Question) -> None:
    assert question.shows(capture(question.name))


@pytest.mark.parametrize("question_and_change", CHANGES.values(), ids=CHANGES)
@pytest.mark.usefixtures("all_targets")
def test_the_listed_change_removes_the_effect(question_and_change: tuple[Question, dict[str, Any]]) -> None:
    question, change = question_and_change
    changed_capture = question.capture_changed(change)
    assert changed_capture.error == ""
    assert question.lacks(changed_capture)


@each_question
@pytest.mark.usefixtures("all_targets")
def test_an_instruction_that_is_named_is_in_the_optimized_module(question: Question) -> None:
    pattern = question.what.get("instruction")
    assert pattern is None or Pattern(**pattern).find(capture(question.name).module)


@each_question
@pytest.mark.usefixtures("all_targets")
def test_its_passes_ran(question: Question) -> None:
    program = capture(question.name)
    assert set(question.passes) - {run.name for run in program.runs} - set(program.pass_names) == set()


@each_question
def test_its_lines_stand_in_the_program(question: Question) -> None:
    texts = [*question.lines, *question.what.get("apart", ()), *filter(None, [question.what.get("line")])]
    assert [question.find_line(text) > 0 for text in texts] == [True] * len(texts)


@each_question
def test_it_names_a_public_thread_and_is_a_question(question: Question) -> None:
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull|discussions)/\d+", question.issue)
    assert re.fullmatch(r"(Why|Who|What|Which|How) [^?]+\?", question.asks)
    assert re.fullmatch(r"[A-Z][^?]+\.", question.why)


def test_there_are_ten_of_each_kind_half_of_them_held_back() -> None:
    assert Counter(question.kind for question in QUESTIONS.values()) == dict.fromkeys(KINDS, 2 * EACH)
    assert Counter(question.kind for question in QUESTIONS.values() if question.is_held) == dict.fromkeys(KINDS, EACH)


def test_those_held_back_were_drawn_by_chance() -> None:
    draw = random.Random(SEED)  # noqa: S311 - a draw that anybody can repeat
    for kind in KINDS:
        held_back = {question.function: question.is_held for question in QUESTIONS.values() if question.kind == kind}
        assert {name for name in held_back if held_back[name]} == {*draw.sample(sorted(held_back), EACH)}


def test_no_issue_is_asked_twice_and_each_family_has_a_third() -> None:
    assert len({question.issue for question in QUESTIONS.values()}) == len(QUESTIONS)
    families = Counter(question.target.partition(":")[0] for question in QUESTIONS.values())
    assert sorted(families) == ["cpu", "h100", "tpu-v5e"]
    assert min(families.values()) >= 12


def test_most_have_a_change_that_removes_them() -> None:
    assert sum(bool(question.removed_by) for question in QUESTIONS.values()) >= 24
