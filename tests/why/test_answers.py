"""The command answers the questions that were not kept out: a right pass, a right line, a change that removes it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from question_trial import Pattern, Question, read_questions

from xla_inspect.commands import run_here

if TYPE_CHECKING:
    from collections.abc import Iterator

OPEN = {question.name: question for question in read_questions() if not question.is_held}

each_question = pytest.mark.parametrize("question", OPEN.values(), ids=OPEN)


@cache
def find_name(name: str) -> str:
    """Return the name of the instruction that a question is about."""
    question = OPEN[name]
    name: str = Pattern(**question.what["instruction"]).find(question.capture().module)[0].name
    return name


def list_words(question: Question) -> Iterator[str]:
    """Yield the words of the command line that asks a question."""
    yield "why"
    yield from (f"--target={question.target}", "--json")
    if question.args:
        yield f"--args={question.args}"
    yield from (f"--donate={number}" for number in question.options.get("donate", ()))
    match question.what:
        case {"apart": lines}:
            yield f"--apart={','.join(str(question.find_line(line)) for line in lines)}"
            yield f"{question.path}:{question.function}"
        case {"line": line}:
            yield from (f"{question.path}:{question.function}", f":{question.find_line(line)}")
        case {"instruction": _}:
            yield from (f"{question.path}:{question.function}", find_name(question.name))


def ask(question: Question, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """Return the answer of the command."""
    first, *rest = list_words(question)
    assert run_here([first, *options, *rest]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@each_question
@pytest.mark.usefixtures("all_targets")
def test_it_names_a_right_pass_and_a_right_line(question: Question, capsys: pytest.CaptureFixture[str]) -> None:
    first = ask(question, capsys)["findings"][0]
    assert first["pass_name"] in question.passes
    named = [first["line"], *first["lines"]]
    assert {line["text"] for line in named} & {*question.lines}


@pytest.mark.parametrize("question", [each for each in OPEN.values() if each.removed_by], ids=lambda each: each.name)
@pytest.mark.usefixtures("all_targets")
def test_a_change_that_removes_it_is_found(question: Question, capsys: pytest.CaptureFixture[str]) -> None:
    trials = ask(question, capsys, "--try=all")["trials"]
    assert [each["change"] for each in trials if each["outcome"] in {"removes", "reduces"}] != []
