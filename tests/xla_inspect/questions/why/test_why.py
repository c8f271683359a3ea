"""The answer to `why`: the verdict first, in few lines, complete on request, and as valid JSON."""

from __future__ import annotations

import json
import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jsonschema import Draft202012Validator

from xla_inspect import capture
from xla_inspect.answers import describe_json, write_json, write_page
from xla_inspect.errors import InspectError
from xla_inspect.questions.why.explanation import Why, WhyTrial
from xla_inspect.questions.why.finding import WhyFinder
from xla_inspect.questions.why.open_questions import OpenQuestions, list_open_questions
from xla_inspect.terminal import ANSWER_WIDTH

X = jax.ShapeDtypeStruct((256, 256), jnp.float32)


def weighted(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    weights = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    total = jnp.sum(weights, axis=0)
    return (weights @ w).T, total


def fill(values: jax.Array) -> jax.Array:
    filled: jax.Array = jax.lax.fori_loop(0, 8, lambda at, held: held.at[at].set(held[at] * 2.0), values)
    return filled


def rooted(x: jax.Array) -> jax.Array:
    root = jnp.sqrt(x * x)
    return root + jnp.log(jnp.exp(x))


def doubled(x: jax.Array) -> jax.Array:
    one = jnp.sin(x)
    unused = jnp.cos(x)  # noqa: F841 - JAX drops it
    again = jnp.sin(x) * 2.0
    late = jnp.tanh(one * again); last = late + 1.0  # noqa: E702 - two values of one line  # fmt: skip
    number = len(x.shape)
    return last * number


def looped(x: jax.Array) -> jax.Array:
    def body(_: jax.Array, value: jax.Array) -> jax.Array:
        inner = jnp.tanh(value)
        return inner * 2.0

    final: jax.Array = jax.lax.fori_loop(0, 8, body, x)
    return final


@cache
def finder(name: str, **options: Any) -> WhyFinder:  # noqa: ANN401 - of capture
    function: Any
    function, args = {
        "weighted": (weighted, (X, X)),
        "fill": (fill, (X,)),
        "rooted": (rooted, (X,)),
        "doubled": (doubled, (X,)),
        "looped": (looped, (X,)),
    }[name]
    return WhyFinder(capture(function, *args, reasons=True, **options))


def answer(what: str, *, full: bool = False) -> Why:
    return finder("weighted").answer("model.py:weighted", what, full=full)


def test_two_kernels_are_reported_with_the_refusal_both_lines_and_the_cost() -> None:
    answer = finder("weighted").answer("model.py:weighted", "", apart=("weights", "total"))
    first = answer.findings[0]
    assert first.kind in {"apart", "together"}
    assert {line.text.partition(" = ")[0] for line in first.lines or (first.line,)} <= {"weights", "total"}
    assert first.verdict in " ".join(str(answer).split())


def test_a_copy_before_a_loop_protects_an_argument_that_was_not_donated() -> None:
    copy = next(
        instruction
        for instruction in finder("fill").evidence.module.entry
        if instruction.opcode == "copy" and instruction.shape.plain == "f32[256,256]"
    )
    [finding, *_] = finder("fill").answer("", copy.name).findings
    assert finding.kind == "copy"
    assert finding.pass_name in {"adding_copies_to_resolve_interference", "copy-insertion"}
    assert "the initial carry is the argument values: it is not donated" in finding.verdict
    assert finding.line.text.startswith("filled: jax.Array = jax.lax.fori_loop(")


def test_an_argument_is_reported_with_its_aliasing() -> None:
    assert finder("fill").answer("", "values").findings[0].verdict == (
        "The argument values is not donated although a result has its shape, so its memory is occupied for the whole "
        "run."
    )
    donated = finder("fill", donate_argnums=0).answer("", "values").findings[0].verdict
    assert donated == "The argument values is donated, and a result reuses its memory."


def test_the_answer_is_short_by_default_and_fits_a_terminal() -> None:
    for what in ("weights", "total", "dot", "w"):
        short = [line for line in str(answer(what)).splitlines() if line and not line.startswith("  xla-inspect")]
        assert len(short) <= 24
        whole = str(answer(what, full=True)).splitlines()
        lines = [line for line in (*short, *whole) if "xla-inspect" not in line]
        assert max(map(len, lines)) <= ANSWER_WIDTH
        assert len(whole) > len(short)


def test_its_json_keeps_to_its_schema_and_its_page_escapes_the_program() -> None:
    why_answer = answer("total")
    Draft202012Validator(describe_json(Why)).validate(json.loads(write_json(why_answer)))
    questions = list_open_questions(finder("weighted"), "<i>")
    Draft202012Validator(describe_json(OpenQuestions)).validate(json.loads(write_json(questions)))
    assert "<i>" not in write_page([questions], "x")


def test_effective_changes_come_first_and_failed_ones_are_counted() -> None:
    tried = [
        WhyTrial("batch", "half", "keeps", "2, then 2"),
        WhyTrial("pass", "none", "failed", "", "no such pass"),
        WhyTrial("donate", "all", "removes", "2, then 0"),
    ]
    tried_answer = answer("total").with_trials(tried)
    assert [trial.outcome for trial in tried_answer.trials] == ["removes", "keeps", "failed"]
    text = str(tried_answer)
    assert text.index("removes") < text.index("without an effect: batch.") < text.index("do not compile: pass;")
    assert "no such pass" not in text


def test_without_a_part_the_open_questions_are_listed_with_their_commands() -> None:
    questions = list_open_questions(finder("weighted"), "model.py:weighted").questions
    assert [question.bytes for question in questions] == sorted(
        (question.bytes for question in questions), reverse=True
    )
    assert all(question.command.startswith("xla-inspect why ") for question in questions)
    question_texts = {question.question for question in questions}
    assert any(
        re.fullmatch(r"Why are `\w+` \(test_why.py:\d+\) and .* two kernels\?", question) for question in question_texts
    )


def test_without_a_part_the_first_question_is_answered() -> None:
    open_questions = list_open_questions(finder("weighted"), "model.py:weighted")
    assert open_questions.answer
    assert f"? {open_questions.answer}" in " ".join(str(open_questions).split())


def test_a_capture_without_reasons_or_passes_says_what_is_missing() -> None:
    bare = WhyFinder(capture(weighted, X, X).retold(passes=(), is_stepped=False)).answer("", "total")
    assert [text.partition(" ")[0] for text in bare.missing] == ["This", "This"]
    assert "reasons=True" in bare.missing[1]
    assert finder("weighted").answer("", "total").missing == ()


def test_an_unlogged_decision_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = WhyFinder(capture(weighted, X, X, reasons=True))
    silent = {"fusion": "No fusion pass speaks.", "copies": "Copies are not spoken of."}
    monkeypatch.setitem(vars(finder.evidence), "reasons", SimpleNamespace(silent=silent, decisions=()))
    answer = finder.answer("", "", apart=("weights", "dot"))
    assert answer.missing == ("No fusion pass speaks.",)


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.usefixtures("all_targets")
def test_a_variable_inside_a_fusion_is_named_before_the_kernel_around_it(target: str) -> None:
    answer = finder("rooted", target=target).answer("", "root")
    assert re.match(r"`root` \(sqrt[\w.]*, test_why.py:\d+\) is computed inside \S+, whose result is add", answer.value)
    assert answer.value in " ".join(str(answer).split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("function", "what", "start"),
    [
        ("doubled", "one", r"`one` \(\S+ test_why.py:\d+\) is computed inside|$"),
        ("doubled", "late", r"`late` \(tanh\S+ test_why.py:\d+\) is computed inside"),
        ("doubled", "last", r"`last` \(add\S+ test_why.py:\d+\) is computed inside"),
        ("looped", "inner", r"`inner` \(tanh\S+ test_why.py:\d+\) is computed inside \S+, in the loop while"),
        ("rooted", "sqrt", r"`sqrt` \(sqrt\S+ test_why.py:\d+\) is computed inside"),
    ],
)
def test_a_value_is_reported_with_its_instruction_and_kernel(function: str, what: str, start: str) -> None:
    assert re.match(start, finder(function).answer("", what).value)


def test_a_value_computed_by_two_lines_is_reported_with_both() -> None:
    findings = [finding for what in ("one", "again") for finding in finder("doubled").answer("", what).findings]
    verdicts = " ".join(finding.verdict for finding in findings if finding.kind == "removed")
    assert re.search(r"cse removed sine\(x\) because the sine \S+ \(test_why.py:\d+\) computes the same", verdicts)


def test_what_jax_dropped_is_not_blamed_on_the_compiler() -> None:
    answer = finder("doubled").answer("", "unused")
    assert "JAX dropped it after tracing because no result depends on it" in answer.findings[0].verdict
    assert answer.parts == ()


def test_a_python_value_is_rejected_with_its_line() -> None:
    with pytest.raises(InspectError, match=r"no operation of doubled comes from test_why.py:\d+, where 'number' is"):
        finder("doubled").answer("", "number")
