"""The command answers the questions of public issues with a correct pass, line and change."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from question_trial import Pattern, Question, read_questions, read_spec

from xla_inspect.commands import run_here

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.long(
    "otherwise two questions of each kind are asked",
    but=[
        "A dense layer and its ReLU",
        "Two element-wise steps with a barrier between",
        "A vector that a while loop fills",
        "Weights that are updated and compared",
        "A matmul by Triton",
        "Heads that are split and moved to the front",
        "A vector rolled by one",
        "Weights that are sharded like the batch",
    ],
)

ASKED = {question.name: question for question in read_questions()}
# Of those that were kept out it was not looked up what the command tries.
REMOVED = [question for question in ASKED.values() if question.removed_by and not question.is_held]
LONGEST = 14
"""The most lines of an answer that is not asked for in full, without its commands."""

each_question = pytest.mark.parametrize("question", ASKED.values(), ids=ASKED)


@cache
def find_name(name: str) -> str:
    """Return the name of the first instruction that the question called `name` is about."""
    question = ASKED[name]
    program: str = Pattern(**question.what["instruction"]).find(question.capture().module)[0].name
    return program


def list_words(question: Question) -> Iterator[str]:
    """Yield the words of the command line that asks a question."""
    yield "why"
    yield f"--target={question.target}"
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


def print_answer(question: Question, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return the output of `xla-inspect why` for a question; assert that it succeeds."""
    first, *rest = list_words(question)
    assert run_here([first, *options, *rest]) == 0
    return capsys.readouterr().out


def ask(question: Question, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """Return the answer of `xla-inspect why` for a question, from its JSON."""
    answer: dict[str, Any] = json.loads(print_answer(question, capsys, "--json", *options))
    return answer


def name_change(  # noqa: PLR0911 - one for each kind of change
    question: Question, change: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the kind of a change of `removed_by`, and a pattern of its description in the answer."""
    match change:
        case {"change": "donate", "arguments": numbers}:
            return "donate", rf"donate arguments? {', '.join(map(str, numbers))}"
        case {"change": "without-pass", "pass": name}:
            return "pass", f"without the pass {re.escape(name)}"
        case {"change": "flag", "flag": flag}:
            return "option", f"--xla {re.escape(flag)}"
        case {"change": "target", "target": target}:
            return "target", rf"for {re.escape(target.partition(':')[0])}(:\w+)?"
        case {"change": "no-barrier"}:
            return "barrier", "without optimization_barrier"
        case {"change": "layout", "argument": at, "order": order}:
            return "layout", re.escape(f"argument {at} laid out as {{{','.join(map(str, reversed(order)))}}}")
        case {"change": "sharding", "specs": specs}:
            first = re.escape(f"P({', '.join(map(repr, read_spec(specs[0])))})")
            return "sharding", rf"argument \d+ as (P\(\)|{first}) in the place of .*"
        case {"change": "batch", "args": args}:
            sizes = [re.findall(r"\[(\d+)", text) for text in (args, question.args)]
            now, before = next(pair for pair in zip(*sizes, strict=True) if pair[0] != pair[1])
            return "batch", f"a batch of {now} in the place of {before}"
        case {"change": kind}:
            return kind, ".*"
    raise ValueError(question.name)


@each_question
@pytest.mark.usefixtures("all_targets")
def test_it_names_a_right_pass_and_a_right_line(question: Question, capsys: pytest.CaptureFixture[str]) -> None:
    first = ask(question, capsys)["findings"][0]
    assert first["pass_name"] in question.passes
    lines_named = [first["line"], *first["lines"]]
    assert {line["text"] for line in lines_named} & {*question.lines}


@each_question
@pytest.mark.usefixtures("all_targets")
def test_it_says_so_in_few_lines_with_commands_that_fit(question: Question, capsys: pytest.CaptureFixture[str]) -> None:
    output = print_answer(question, capsys)
    lines = re.split(r"^To see all evidence", output, flags=re.MULTILINE)[0].rstrip().splitlines()
    assert len(lines) <= LONGEST
    assert max(map(len, lines)) <= 80
    assert "\u2026" not in "".join(lines)


@pytest.mark.parametrize("question", REMOVED, ids=lambda each: each.name)
@pytest.mark.usefixtures("all_targets")
def test_the_changes_that_remove_it_are_found(question: Question, capsys: pytest.CaptureFixture[str]) -> None:
    expected = [name_change(question, change) for change in question.removed_by]
    trials = ask(question, capsys, f"--try={','.join(dict.fromkeys(kind for kind, _ in expected))}")["trials"]
    removing = [trial for trial in trials if trial["outcome"] == "removes"]
    lacking = [
        (kind, pattern)
        for kind, pattern in expected
        if not any(trial["kind"] == kind and re.fullmatch(pattern, trial["change"]) for trial in removing)
    ]
    assert lacking == [], [(trial["outcome"], trial["change"], trial["effect"] or trial["note"]) for trial in trials]
