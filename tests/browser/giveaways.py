"""Passages of a page that answer one of its questions before a reader has guessed.

A passage is two consecutive sentences, or a row of a table together with the table's head. A passage answers a question
if it has at least half of the question's words, and more words that only the right choice has than words of any other
choice. A passage also answers a question about a reason if it has most words of the right reason. Words of grammar do
not count, and `kernels` is the same word as `kernel`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

SCREEN = 900
"""The height of a screen in pixels. Readers see the text within this distance below a question while they guess."""
MOST, SUBJECT, HINT = 0.6, 0.5, 0.2
"""The smallest shares of the right choice's words, of the question's words, and of words of the right choice only."""
GRAMMAR = re.compile(
    r"a|after|all|an|and|any|are|as|at|be|because|before|but|by|can|could|did|do|does|each|even|every|for|from|has|have|"
    r"if|in|into|is|it|its|may|not|no|of|on|only|or|other|same|so|some|than|that|the|their|them|then|there|they|this|to|"
    r"until|was|were|what|when|where|which|why|with|would"
)
NUMBERS = dict(zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), "123456789", strict=True))
READ = """() => {
  const shows = each => each.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const box = each => each.getBoundingClientRect()
  const texts = [...document.querySelectorAll("article :is(p, li, tr, h2, h3, h4, figcaption, summary, dt, dd)")]
    .filter(each => !each.closest(".predict, pre") && !each.querySelector("p, li") && shows(each))
  const head = each => each.closest("table")?.querySelector("tr").innerText ?? ""
  return {
    texts: texts.map(each => [box(each).top, each.innerText, head(each)]),
    questions: [...document.querySelectorAll(".predict")].map(each => [
      box(each).bottom, each.dataset.kind, each.querySelector(".predict-question").innerText.replace("Predict:", ""),
      [...each.querySelectorAll("details")].map(fold =>
        ["summary", "p", ".right"].map(part => fold.querySelector(part)?.textContent ?? "")),
    ]),
  }
}"""


@dataclass(frozen=True)
class Question:
    """One question of a page.

    Attributes:
        kind: `reason`, `value`, `which` (of several targets) or `whether` (something holds).
        text: The question.
        right: The right choice.
        others: The other choices.
    """

    kind: str
    text: str
    right: str
    others: tuple[str, ...]


def list_words(text: str) -> set[str]:
    """Return the words and numbers of a text, without their endings and without words of grammar."""
    words = (NUMBERS.get(word, word) for word in re.findall(r"\w[\w.,]*\w|\w", text.lower()))
    return {
        re.sub(r"(?<=\w{3})(?:ings?|ied|ies|ed|es|s|e)$", "", word) for word in words if not GRAMMAR.fullmatch(word)
    }


def measure_share(words: set[str], passage: set[str]) -> float:
    """Return the share of these words that a passage contains."""
    return len(words & passage) / max(1, len(words))


def is_answer(passage: str, question: Question) -> bool:
    """Return whether a passage answers a question."""
    words, subject = list_words(passage), list_words(question.text)
    right, *others = (list_words(choice) - subject for choice in (question.right, *question.others))
    if question.kind == "reason" and measure_share(right, words) >= MOST:
        return True
    if measure_share(subject, words) < SUBJECT:
        return False
    hint = measure_share(right - set().union(*others), words)
    return hint >= HINT and hint > max((measure_share(other - right, words) for other in others), default=0)


def list_passages(text: str, head: str) -> Iterator[str]:
    """Yield the passages of a paragraph, or of a row below the head of a table."""
    sentences = [f"{head} {text}"] if head else re.split(r"(?<=[.!?:;])\s+", text)
    yield from map(" ".join, zip(sentences, [*sentences[1:], ""], strict=True))


def list_giveaways(page: Page) -> Iterator[str]:
    """Yield a message for each question of an open page that a passage answers, with the first such passage.

    The passages are in the text above the question, in the text within a screen below it, and in the other questions.
    """
    texts, questions = page.evaluate(READ).values()
    for bottom, kind, text, choices in questions:
        if kind == "whether":
            continue
        question, by_name = make_question(kind, text, choices), make_question("value", text, choices)
        passages = (passage for top, *part in texts if top < bottom + SCREEN for passage in list_passages(*part))
        giveaways = [passage for passage in passages if is_answer(passage, question)]
        giveaways += [other for _, _, other, _ in questions if other != text and is_answer(other, by_name)]
        if giveaways:
            yield f"{text.strip()} -> {question.right}: {giveaways[0]}"


def make_question(kind: str, text: str, choices: list[list[str]]) -> Question:
    """Return a question from its choices, each with its text, its feedback, and its feedback if the choice is right."""
    right = next(says for says, _, right in choices if right)
    others = tuple(says for says, _, right in choices if not right)
    if kind == "which":
        # A passage can give the answer away by the right choice's measured value, which the feedback states ("The
        # values are 3 kernels for the TPU v5e, 1 ..."). So look for this value instead of the choice's name.
        feedback = next(feedback for _, feedback, right in choices if right)
        value = re.search(rf"([\d.,]*\d) ?[^,]*? for (?:the )?{re.escape(right)}\b", feedback)
        right, others = (value[1] if value else right), ()
    return Question(kind, text, right, others)
