"""Predictions with computed choices and keys; an invalid one fails the build with an explanation."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Literal

import pytest

from chapters import prediction, question_checks
from xla_inspect.errors import TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELS = {"tpu-v5e": 3, "cpu": 2, "h100": 1}
CHOICE = re.compile(r'<summary>(.*?)</summary><p class="(right|wrong)"><b>(.*?)</b> (.*?)<a href="(.*?)">')


def read(html: str) -> list[tuple[str, str, str]]:
    """Return each choice: its text, its verdict and its explanation."""
    strip = re.compile(r"<[^>]*>")
    return [
        (unescape(strip.sub("", says)), verdict, unescape(strip.sub("", feedback)).strip())
        for says, verdict, _, feedback, _ in CHOICE.findall(html)
    ]


def find_key(html: str) -> str:
    """Return the text of the right choice."""
    (key,) = (says for says, verdict, _ in read(html) if verdict == "right")
    return key


def find_attribute(html: str, name: str) -> str:
    """Return the value of an attribute in the HTML of a question."""
    match = re.search(rf'\b{name}="([^"]*)"', html)
    assert match
    return match[1]


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
    with pytest.raises(ValueError, match=r"asks for the (?:most|least), and `pick` is"):
        prediction.ask_which(question, {"cpu": 1, "h100": 2}, pick=pick, see="#a")
    assert prediction.ask_which("Which differs?", {"cpu": 1, "h100": 2}, pick=pick, see="#a")


def test_the_order_of_choices_does_not_reveal_the_key() -> None:
    assert [says for says, *_ in read(prediction.ask_which("Which?", KERNELS, see="#x"))] == [
        "CPU",
        "NVIDIA H100",
        "TPU v5e",
    ]
    html = prediction.ask_value("How many?", 12, others={"a": 100, "b": 2, "c": 12}, see="#x")
    assert [says for says, *_ in read(html)] == ["2", "12", "100"]
    reasons = {"b holds": (True, ""), "a is not": (False, "It is.")}
    assert [says for says, *_ in read(prediction.ask_reason("Why?", reasons, see="#x"))] == ["a is not", "b holds"]
    assert [says for says, *_ in read(prediction.ask_whether("Is it?", holds=False, see="#x"))] == ["Yes", "No"]


def test_an_answer_shows_all_that_was_measured_with_its_unit() -> None:
    html = prediction.ask_which("Which?", KERNELS, unit="kernels", see="#x", because="It is so.")
    assert read(html)[0] == (
        "CPU",
        "wrong",
        (
            "The answer is the TPU v5e. The values are 3 kernels for the TPU v5e, 2 kernels for the CPU, "
            "and 1 kernel for the NVIDIA H100. It is so."
        ),
    )
    assert "The values are 1 KiB for a and 2 MiB for b." in prediction.ask_which(
        "?", {"a": 1024, "b": 2 << 20}, unit="bytes", see="#x"
    )


def test_a_wrong_value_is_followed_by_its_owner() -> None:
    html = prediction.ask_value("How many?", 1, others={"cpu": 2, "h100": 2, "tpu-v5e": 1, "none fused": 8}, see="#x")
    assert read(html) == [
        (
            "1",
            "right",
            "The value is the same for the TPU v5e. It is 2 for the CPU and the NVIDIA H100 and 8 for none fused.",
        ),
        ("2", "wrong", "The answer is 1. The value is 2 for the CPU and the NVIDIA H100."),
        ("8", "wrong", "The answer is 1. The value is 8 for none fused."),
    ]


@pytest.mark.parametrize(
    ("unit", "values"),
    [
        ("kernels", "0 kernels for a, 1 kernel for b, and 2 kernels for c"),
        ("launches", "0 launches for a, 1 launch for b, and 2 launches for c"),
        ("passes", "0 passes for a, 1 pass for b, and 2 passes for c"),
        ("percent", "0 percent for a, 1 percent for b, and 2 percent for c"),
        (
            "transposes and copies",
            "0 transposes and copies for a, 1 transpose or copy for b, and 2 transposes and copies for c",
        ),
    ],
)
def test_counts_of_zero_one_and_many_have_the_right_noun(unit: str, values: str) -> None:
    question = prediction.ask_which("Which?", {"a": 0, "b": 1, "c": 2}, unit=unit, see="#x")
    assert f"The values are {values}." in question


def test_a_target_has_its_article_and_a_reason_its_capital_and_full_stop() -> None:
    for label in ("h100", "NVIDIA H100"):
        question = prediction.ask_which("Which?", {label: 2, "a": 1}, see="#x", because="the tile is small")
        assert "The answer is the NVIDIA H100. The values are 2 for the NVIDIA H100 and 1 for a." in question
        assert "The tile is small." in question
    assert "cuBLAS fuses." in prediction.ask_which("Which?", {"b": 2, "a": 1}, see="#x", because="cuBLAS fuses")


def test_a_wrong_reason_shows_its_refutation() -> None:
    reasons = {"It is very large": (False, "it has `1 KiB`"), "It has two users": (True, "It has one.")}
    assert read(prediction.ask_reason("Why?", reasons, see="#x")) == [
        ("It has two users", "right", ""),
        ("It is very large", "wrong", "It has 1 KiB."),
    ]


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        ({"abc": (True, ""), "bcd": (False, "")}, "without a refutation of its own"),
        ({"abc": (True, ""), "bcd": (False, "No."), "cde": (False, "No.")}, "without a refutation of its own"),
        ({"abcdef": (True, "No."), "`bcd`": (False, "No.")}, '"abcdef" has 6 characters and "`bcd`" 3: make'),
    ],
    ids=["none", "the same", "length"],
)
def test_reasons_without_refutations_or_of_unequal_length_are_rejected(
    reasons: dict[str, tuple[bool, str]], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        prediction.ask_reason("Why?", reasons, see="#x")
    assert prediction.ask_reason("Why?", {"abcd": (True, ""), "`bcdef`": (False, "No.")}, see="#x")


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda: prediction.ask_which("Q?", {"a": 1, "b": 1, "c": 0}, see="#x"),
            ValueError,
            "a and b share the value 1",
        ),
        (lambda: prediction.ask_which("Q?", {"a": 1}, see="#x"), ValueError, "measure more targets or variants"),
        (lambda: prediction.ask_which("Q?", {}, see="#x"), ValueError, "measure more targets or variants"),
        (lambda: prediction.ask_value("Q?", 1, others={"a": 1}, see="#x"), ValueError, "compare with a variant"),
        (
            lambda: prediction.ask_reason("Q?", {"a": (False, "No."), "b": (False, "N.")}, see="#x"),
            ValueError,
            "must be true",
        ),
        (
            lambda: prediction.ask_reason("Q?", {"a": (True, ""), "b": (True, "")}, see="#x"),
            ValueError,
            'and not "a" and "b"',
        ),
        (lambda: prediction.ask_reason("Q?", {"a": (True, "")}, see="#x"), ValueError, "must be true"),
        (lambda: prediction.ask_whether("Q?", 1, see="#x"), TypeError, "compare it"),  # type: ignore[arg-type]
        (lambda: prediction.ask_reason("Q?", {"a": (1, ""), "b": (0, "")}, see="#x"), TypeError, "compare it"),  # type: ignore[dict-item]
        (lambda: prediction.ask_whether("Q?", holds=True, see="fusion.md#x"), ValueError, "on the same page"),
    ],
    ids=["tie", "one", "none", "no other", "no reason", "two reasons", "one reason", "number", "numbers", "elsewhere"],
)
@pytest.mark.usefixtures("all_targets")
def test_a_question_without_a_unique_answer_fails_with_a_remedy(
    ask: Callable[[], str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        ask()


def test_where_a_target_is_missing_a_question_that_needs_it_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_checks, "available", lambda: {"cpu": "", "h100": "no compiler"})
    with pytest.raises(TargetUnavailableError, match="no compiler"):
        prediction.ask_which("Q?", {"cpu": 1}, see="#x")


def test_everything_is_escaped_and_text_in_backticks_is_code() -> None:
    bad = "<b>&*_`x<`"
    for html in (
        prediction.ask_which(bad, {bad: 1, "b": 2}, see="#x", because=bad, unit=bad),
        prediction.ask_value(bad, "<i>", others={bad: "<u>"}, see="#x", because=bad),
        prediction.ask_reason(bad, {bad: (True, ""), "<i>******": (False, bad)}, see="#x"),
    ):
        assert not re.search(r"<(?:i|u|b>&)", html.replace("<b>Predict:</b>", ""))
        assert "<code>x&#60;</code>" in html
        assert "*" not in html
        assert html.count("\n") == 1


def test_a_different_text_or_key_makes_a_different_question() -> None:
    html = prediction.ask_which("Which?", KERNELS, see="#x")
    changed_html = prediction.ask_which("Which?", {**KERNELS, "cpu": 9}, see="#x")
    assert find_attribute(html, "id") == find_attribute(changed_html, "id")
    assert find_attribute(html, "data-digest") != find_attribute(changed_html, "data-digest")
    other = prediction.ask_which("Which one?", KERNELS, see="#x")
    assert find_attribute(html, "id") != find_attribute(other, "id")


def test_in_plain_markdown_a_question_has_its_choices_and_then_the_answer() -> None:
    html = prediction.ask_value("How many `f`?", 1, others={"cpu": 2}, see="#x")
    assert prediction.write_questions(f"before\n    {html}after") == (
        "before\n"
        "    <b>Predict:</b> How many <code>f</code>?\n\n"
        "    - 1\n"
        "    - 2\n\n"
        '    Answer: 1. The value is 2 for the CPU. <a href="#x">See what the compiler did</a>\n'
        "after"
    )
