"""Questions that the reader answers before the listing that answers them; where nobody is there, nothing waits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.terminal import Paper

YES = "yes"
"""A choice of questions that ask whether something is so."""

NO = "no"
"""The other choice."""


class Forecast:
    """What a reader said of a phase before it was shown.

    Args:
        paper: What to print on.
    """

    def __init__(self, paper: Paper) -> None:
        """Start with nothing asked."""
        self._paper = paper
        self._asked: list[bool] = []

    @property
    def waits(self) -> bool:
        """Whether somebody is there to answer."""
        return sys.stdin.isatty() and self._paper.stream.isatty()

    def commit(self, question: str, choices: Sequence[str] = (), *, listing: str = "") -> str:
        """Ask a question, and return the answer; it waits for Enter, so that what comes next is not seen before.

        Args:
            question: The question.
            choices: What may be answered, by default any whole number.
            listing: Python that the question is about, shown where somebody reads it before the answer.

        Returns:
            A number, or one of the choices; an empty string where the reader skips it or nobody is there.
        """
        paper = self._paper
        if not self.waits:
            paper.say(f"Predict first: {question}")
            return ""
        if listing:
            paper.show(listing, "python")
        paper.say(f"Predict: {question}")
        expected = " or ".join(choices) if choices else "a whole number"
        while True:
            answer = self._read(f"Your answer, {expected} (Enter alone skips it):")
            if not answer or (answer in choices if choices else answer.isdecimal() and answer.isascii()):
                return answer if choices or not answer else str(int(answer))
            expected = f"{expected}, not {answer[:20]!r}"

    def reveal(self, said: str, answer: int | str, because: str) -> None:
        """Say what is so, whether the reader had said it, and why it is so.

        Args:
            said: What `commit` returned.
            answer: What is so.
            because: Why, in a sentence.
        """
        text, what = (f"{answer:,}", "it") if isinstance(answer, int) else (answer, "the answer")
        if not said:
            self._paper.say(f"{what.capitalize()} is {text}: {because}")
            return
        right = said == str(answer)
        self._asked.append(right)
        first = f"{text}, as you said" if right else f"You said {said}, and {what} is {text}"
        self._paper.verdict(f"{first}: {because}", good=right)

    def close(self) -> None:
        """Say how many answers were right, where any was given."""
        if self._asked:
            right, asked = sum(self._asked), len(self._asked)
            self._paper.say(f"Of {plural(asked, 'prediction')} {right} came true.")

    def _read(self, prompt: str) -> str:
        stream = self._paper.stream
        stream.write(f"{prompt} ")
        stream.flush()
        answer = sys.stdin.readline().strip().lower()
        stream.write("\n")
        return answer
