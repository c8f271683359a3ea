"""A question is asked with choices and a key that were computed, or the build fails and says what to do."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Literal

import pytest

from chapters import prediction
from xla_inspect.errors import TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELS = {"tpu-v5e": 3, "cpu": 2, "h100": 1}
CHOICE = re.compile(r'<summary>(.*?)</summary><p class="(right|wrong)"><b>(.*?)</b> (.*?)<a href="(.*?)">')


def read(html: str) -> list[tuple[str, str, str]]:
    """Return each choice: what it says, right or wrong, and what it opens to."""
    strip = re.compile(r"<[^>]*>")
    return [
        (unescape(strip.sub("", says)), verdict, unescape(strip.sub("", told)).strip())
        for says, verdict, _, told, _ in CHOICE.findall(html)
    ]


def find_key(html: str) -> str:
    """Return what the right choice says."""
    (key,) = (says for says, verdict, _ in read(html) if verdict == "right")
    return key


def find_attribute(html: str, name: str) -> str:
    """Return an attribute of the question."""
    found = re.search(rf'\b{name}="([^"]*)"', html)
    assert found
    return found[1]


def test_the_one_with_the_largest_or_the_smallest_value_is_the_key() -> None:
    assert find_key(prediction.ask_which("Which?", KERNELS, see="#x")) == "TPU v5e"
    assert find_key(prediction.ask_which("Which?", KERNELS, pick="least", see="#x")) == "NVIDIA H100"


@pytest.mark.parametrize(
    ("question", "pick"),
    [("Which has the fewest kernels?", "most"), ("Which has the most kernels?", "least"), ("Which is last?", "least")],
)
def test_a_question_whose_words_ask_for_the_other_extreme_is_refused(
    question: str, pick: Literal["most", "least"]
) -> None:
    with pytest.raises(ValueError, match=r"asks for the (?:most|least), and its key is the"):
        prediction.ask_which(question, {"cpu": 1, "h100": 2}, pick=pick, see="#a")
    assert prediction.ask_which("Which differs?", {"cpu": 1, "h100": 2}, pick=pick, see="#a")


def test_choices_are_in_an_order_that_does_not_tell_the_key() -> None:
    assert [says for says, *_ in read(prediction.ask_which("Which?", KERNELS, see="#x"))] == [
        "CPU",
        "NVIDIA H100",
        "TPU v5e",
    ]
    asked = prediction.ask_value("How many?", 12, others={"a": 100, "b": 2, "c": 12}, see="#x")
    assert [says for says, *_ in read(asked)] == ["2", "12", "100"]
    reasons = {"b holds": True, "a does not": False}
    assert [says for says, *_ in read(prediction.ask_reason("Why?", reasons, see="#x"))] == ["a does not", "b holds"]
    assert [says for says, *_ in read(prediction.ask_whether("Is it?", holds=False, see="#x"))] == ["Yes", "No"]


def test_an_answer_shows_all_that_was_measured_with_its_unit() -> None:
    asked = prediction.ask_which("Which?", KERNELS, unit="kernels", see="#x", because="It is so.")
    assert read(asked)[0] == (
        "CPU",
        "wrong",
        "It is TPU v5e. TPU v5e: 3 kernels; CPU: 2 kernels; NVIDIA H100: 1 kernel. It is so.",
    )
    assert "a: 1 KiB; b: 2 MiB" in prediction.ask_which("?", {"a": 1024, "b": 2 << 20}, unit="bytes", see="#x")


def test_a_wrong_value_says_whose_it_is() -> None:
    asked = prediction.ask_value("How many?", 1, others={"cpu": 2, "h100": 2, "tpu-v5e": 1, "none fused": 8}, see="#x")
    assert read(asked) == [
        ("1", "right", "The same for TPU v5e. CPU, NVIDIA H100: 2; none fused: 8."),
        ("2", "wrong", "2 is the value for CPU and NVIDIA H100; here it is 1."),
        ("8", "wrong", "8 is the value for none fused; here it is 1."),
    ]


def test_what_does_not_hold_names_what_does() -> None:
    asked = prediction.ask_reason("Why?", {"It is large": False, "It has two users": True}, see="#x")
    assert read(asked) == [
        ("It has two users", "right", ""),
        ("It is large", "wrong", "That does not hold here. What does: It has two users."),
    ]


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (
            lambda: prediction.ask_which("Q?", {"a": 1, "b": 1, "c": 0}, see="#x"),
            ValueError,
            "a and b share the value 1",
        ),
        (lambda: prediction.ask_which("Q?", {"a": 1}, see="#x"), ValueError, "measure more targets or variants"),
        (lambda: prediction.ask_which("Q?", {}, see="#x"), ValueError, "measure more targets or variants"),
        (lambda: prediction.ask_value("Q?", 1, others={"a": 1}, see="#x"), ValueError, "compare with a variant"),
        (lambda: prediction.ask_reason("Q?", {"a": False, "b": False}, see="#x"), ValueError, "exactly one must hold"),
        (lambda: prediction.ask_reason("Q?", {"a": True, "b": True}, see="#x"), ValueError, '"a" and "b" do'),
        (lambda: prediction.ask_reason("Q?", {"a": True}, see="#x"), ValueError, "exactly one must hold"),
        (lambda: prediction.ask_whether("Q?", 1, see="#x"), TypeError, "compare it"),  # type: ignore[arg-type]
        (lambda: prediction.ask_reason("Q?", {"a": 1, "b": 0}, see="#x"), TypeError, "compare it"),  # type: ignore[dict-item]
        (lambda: prediction.ask_whether("Q?", holds=True, see="fusion.md#x"), ValueError, "on the same page"),
    ],
    ids=["tie", "one", "none", "no other", "no reason", "two reasons", "one reason", "number", "numbers", "elsewhere"],
)
@pytest.mark.usefixtures("all_targets")
def test_a_question_without_one_answer_fails_and_says_what_to_do(
    ask: Callable[[], str], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=re.escape(said)):
        ask()


def test_where_a_target_is_missing_a_question_that_needs_it_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "available", lambda: {"cpu": "", "h100": "no compiler"})
    with pytest.raises(TargetUnavailableError, match="no compiler"):
        prediction.ask_which("Q?", {"cpu": 1}, see="#x")


def test_everything_is_escaped_but_what_stands_between_backticks_is_code() -> None:
    bad = "<b>&*_`x<`"
    for html in (
        prediction.ask_which(bad, {bad: 1, "b": 2}, see="#x", because=bad, unit=bad),
        prediction.ask_value(bad, "<i>", others={bad: "<u>"}, see="#x", because=bad),
        prediction.ask_reason(bad, {bad: True, "<i>": False}, see="#x"),
    ):
        assert not re.search(r"<(?:i|u|b>&)", html.replace("<b>Predict:</b>", ""))
        assert "<code>x&#60;</code>" in html
        assert "*" not in html
        assert html.count("\n") == 1


def test_another_text_or_key_is_another_question() -> None:
    asked = prediction.ask_which("Which?", KERNELS, see="#x")
    changed = prediction.ask_which("Which?", {**KERNELS, "cpu": 9}, see="#x")
    assert find_attribute(asked, "id") == find_attribute(changed, "id")
    assert find_attribute(asked, "data-digest") != find_attribute(changed, "data-digest")
    other = prediction.ask_which("Which one?", KERNELS, see="#x")
    assert find_attribute(asked, "id") != find_attribute(other, "id")


def test_in_plain_markdown_a_question_has_its_choices_and_then_the_answer() -> None:
    asked = prediction.ask_value("How many `f`?", 1, others={"cpu": 2}, see="#x")
    assert prediction.convert_questions(f"before\n    {asked}after") == (
        "before\n"
        "    <b>Predict:</b> How many <code>f</code>?\n\n"
        "    - 1\n"
        "    - 2\n\n"
        '    Answer: 1. CPU: 2. <a href="#x">See what the compiler did</a>\n'
        "after"
    )
